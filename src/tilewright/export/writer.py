"""An ONNX graph while it is written, and the nodes that one operator stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from tilewright.errors import CompileError, Refusal
from tilewright.ir.graph import Graph, Node
from tilewright.ir.scale import Scale
from tilewright.ir.types import Array, Shape, TensorType, as_computed, type_of
from tilewright.records import dataclass

STANDARD = ""
"""The domain of ONNX's own operators."""

MOVING = frozenset({"Clip", "Gather", "MaxPool", "Pad", "Slice", "Transpose"})
"""Operators whose results are integers of their first operand, or bounds and zeros in the same unit."""


@dataclass(frozen=True)
class Step:
    """A node whose first input is the result of the node before it; the first of several has all its inputs here."""

    kind: str
    inputs: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)


class ModelWriter:
    """Nodes in order, constants that are not the graph's own, and names that are not in use."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.names = tensor_names(graph)
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, Array] = {}
        self._taken = {*self.names.values(), *graph.output_names}
        self._node_names = {node.name for node in graph.nodes}
        self._named: set[str] = set()

    @cached_property
    def is_quantised(self) -> bool:
        return any(node.op.kind == "QuantizeLinear" for node in self.graph.nodes)

    def scale_of(self, tensor: str) -> Scale | None:
        """What a tensor's integers stand for, as the model's file states it for the tensor or for one that has the same
        integers."""
        return self._scales.get(tensor)

    @cached_property
    def _scales(self) -> dict[str, Scale]:
        found = {**self.graph.scales.inner, **self.graph.scales.inputs}
        moving = [node for node in self.graph.nodes if node.op.view or node.op.kind in MOVING]
        for node in moving:
            if node.inputs[0] in found:
                found.setdefault(node.outputs[0], found[node.inputs[0]])
        for node in reversed(moving):
            if node.outputs[0] in found:
                found.setdefault(node.inputs[0], found[node.outputs[0]])
        return found

    def fresh(self, hint: str) -> str:
        """A tensor name that nothing has."""
        name = _unused(hint, self._taken)
        self._taken.add(name)
        return name

    def constant(self, array: Array, hint: str) -> str:
        name = self.fresh(hint)
        self.constants[name] = np.ascontiguousarray(array).reshape(array.shape)
        return name

    def add(self, made: NodeProto) -> None:
        self.nodes.append(made)

    def node_name(self, wanted: str, is_own: bool) -> str:
        """A node's own name the first time that it is asked for; otherwise one that no node has."""
        if is_own and wanted not in self._named:
            self._named.add(wanted)
            return wanted
        name = _unused(wanted, self._named | self._node_names)
        self._named.add(name)
        return name


@dataclass(frozen=True)
class NodeWriter:
    """Writes the ONNX nodes that one node of the graph stands for."""

    to: ModelWriter
    node: Node

    # ---- what is there --------------------------------------------------------------------------------------------

    @property
    def inputs(self) -> list[str]:
        return [self.to.names.get(name, name) for name in self.node.inputs]

    @property
    def outputs(self) -> list[str]:
        return [self.to.names.get(name, name) for name in self.node.outputs]

    def operand(self, name: str) -> str:
        """An operand's tensor; empty where it is absent."""
        tensor = self.node.operands().get(name, "")
        return self.to.names.get(tensor, tensor)

    def type(self, operand: str) -> TensorType:
        """What the operator takes an operand for: constants of short floats are only stored so."""
        value = self.value(operand)
        return self.to.graph.types[self.node.operands()[operand]] if value is None else type_of(value)

    def shape(self, operand: str = "X") -> Shape:
        return self.type(operand).shape

    def result_type(self, position: int = 0) -> TensorType:
        return self.to.graph.types[self.node.outputs[position]]

    def value(self, operand: str) -> Array | None:
        """An operand that is a constant of the graph."""
        value = self.to.graph.constants.get(self.node.operands().get(operand, ""))
        return None if value is None else as_computed(value)

    def must_know(self, operand: str) -> Array:
        value = self.value(operand)
        if value is None:
            raise Refusal(f"{operand} is computed at run time", "ONNX needs it as a constant here")
        return value

    def constant_of(self, operand: str, stored: str) -> Array:
        """An operand that is a constant, in the form in which it is stored under a name."""
        found = self.to.constants.get(stored)
        return self.must_know(operand) if found is None else found

    # ---- what is written ------------------------------------------------------------------------------------------

    def constant(self, array: Array, hint: str) -> str:
        return self.to.constant(array, f"{self.node.name}_{hint}")

    def integers(self, values: Sequence[int], hint: str) -> str:
        return self.constant(np.asarray(values, np.int64), hint)

    def add(self, kind: str, inputs: Sequence[str], domain: str = STANDARD, **attributes: Any) -> str:
        """A node in between: the tensor that it gives."""
        made = self.to.fresh(f"{self.node.key}_{kind.lower()}")
        self.give(made, kind, inputs, domain, **attributes)
        return made

    def give(self, output: str, kind: str, inputs: Sequence[str], domain: str = STANDARD, **attributes: Any) -> None:
        """A node that gives a tensor of that name."""
        name = self.to.node_name(f"{self.node.name}_{kind.lower()}", is_own=False)
        self.to.add(helper.make_node(kind, inputs, [output], name, domain=domain, **attributes))

    def end(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str] | None = None, domain: str = STANDARD,
        **attributes: Any,
    ) -> None:  # fmt: skip
        """The node that gives what the graph's node gives, under its name."""
        given = self.outputs if outputs is None else list(outputs)
        name = self.to.node_name(self.node.name, is_own=True)
        self.to.add(helper.make_node(kind, _without_trailing_blanks(inputs), given, name, domain=domain, **attributes))

    def chain(self, *steps: Step, first: str = "") -> None:
        """Nodes one after the other, of which the last gives what the graph's node gives; `first` is what the first
        of them reads before its other inputs."""
        value: tuple[str, ...] = (first,) if first else ()
        for step in steps[:-1]:
            value = (self.add(step.kind, (*value, *step.inputs), **step.attributes),)
        self.end(steps[-1].kind, (*value, *steps[-1].inputs), **steps[-1].attributes)


def tensor_names(graph: Graph) -> dict[str, str]:
    """What each tensor is called: a name of an output belongs to the tensor that is this output."""
    names = {tensor: tensor for tensor in graph.types}
    called: dict[str, str] = {}
    for tensor, name in zip(graph.outputs, graph.output_names, strict=True):
        if tensor in graph.producers and tensor not in graph.output_names:
            called.setdefault(tensor, name)
    taken = {*graph.types, *graph.output_names}
    owners = dict(zip(graph.output_names, graph.outputs, strict=True))
    for name, owner in owners.items():
        if name in names and name != owner:
            _refuse_source(graph, name)
            names[name] = _unused(f"{name}_inner", taken)
            taken.add(names[name])
    return names | called


def _refuse_source(graph: Graph, name: str) -> None:
    if name in graph.sources:
        what = "is the name of an input and of an output that is another tensor; in ONNX they would be one"
        raise CompileError(f"output '{name}'", what, "rename one of them")


def _unused(hint: str, taken: set[str]) -> str:
    name, number = hint, 1
    while name in taken:
        number += 1
        name = f"{hint}_{number}"
    return name


def _without_trailing_blanks(names: Sequence[str]) -> list[str]:
    kept = list(names)
    while kept and kept[-1] == "":
        kept.pop()
    return kept

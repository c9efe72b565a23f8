"""Nodes with subgraphs: what they need of the import that they are part of, and how copies of subgraphs get into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper

from tilewright.errors import CompileError, Refusal
from tilewright.frontends.onnx import file as onnx_file
from tilewright.frontends.onnx.bodies import Body, wanted_positions
from tilewright.frontends.onnx.open_lengths import OpenLength
from tilewright.frontends.onnx.own_graphs import OwnGraph
from tilewright.ir.types import Array, TensorType
from tilewright.ops._control_flow import ControlFlow as ControlFlowOp

EXPORT_ONE = "export the branch or the number of steps that is needed, or bind what decides it with --bind"
"""What to try where data decides."""


@dataclass
class Scope:
    """What control flow needs to know and to do in the import that it is part of."""

    convert: Callable[[onnx.NodeProto], None]
    constants: dict[str, Array]
    type_of: Callable[[str], TensorType | None]
    poisoned: set[str]
    """Tensors that have no type because what makes them was refused."""
    taken: set[str]
    """Names in use."""
    ignore: Callable[[Iterable[str]], None]
    """Is told of tensors that nobody reads."""
    reserve: Callable[[Iterable[str]], None]
    opset: int
    attempt: Callable[[str, Callable[[], None]], list[CompileError]]
    """What stands in the way of an action of the node that is named; where anything does, nothing has happened."""
    read_body: Callable[[str, Sequence[tuple[str, TensorType]], Callable[[], Sequence[str]]], OwnGraph | None]
    """A graph with inputs of these names and types, of what an action inserts: see the importer."""
    add_flow: Callable[[onnx.NodeProto, ControlFlowOp, Sequence[str], Sequence[str]], None]
    """Adds an operator with bodies, by the names of what it reads and gives."""
    report: Callable[[Sequence[CompileError]], None]
    """Is told of what was refused."""
    max_trips: int | None
    """Turns of loops whose number depends on data, at most, as the user says."""
    unrolled: int = 0
    """Nodes that loops have become so far."""
    open_lengths: dict[str, OpenLength] = field(default_factory=dict)
    """Tensors of which data decides how many rows there are."""


class ControlFlow:
    """One node with subgraphs."""

    def __init__(self, node: onnx.NodeProto, scope: Scope, unread: frozenset[str]) -> None:
        self.node, self.scope, self.unread = node, scope, unread
        self.name = onnx_file.name_of(node)
        self.where = f"node '{self.name}' ({node.op_type})"
        self.bodies = {item.name: item.g for item in node.attribute if item.type == onnx.AttributeProto.GRAPH}

    @property
    def wanted(self) -> tuple[int, ...]:
        """The outputs that somebody reads."""
        return wanted_positions(self.node, self.unread)

    def body(self, which: str, outputs: int, wanted: tuple[int, ...] | None = None) -> Body:
        if which not in self.bodies:
            raise Refusal(f"attribute '{which}' is missing")
        graph = self.bodies[which]
        if len(graph.output) != outputs:
            raise Refusal(f"{which} has {len(graph.output)} outputs, but {outputs} are expected")
        return Body(graph, self.name, self.scope.taken, wanted)

    def declared_rank(self, position: int, found: Sequence[int]) -> int:
        """The number of axes that both branches of an If declare; the larger one found where they do not."""
        kinds = [self.bodies[which].output[position].type.tensor_type for which in ("then_branch", "else_branch")]
        declared = {len(kind.shape.dim) if kind.HasField("shape") else -1 for kind in kinds}
        return declared.pop() if len(declared) == 1 and min(declared) >= 0 else max(found)

    def insert(self, body: Body, bindings: dict[str, str], turn: str = "") -> list[str]:
        """Puts a copy of a subgraph into the place of the node, and gives the names of its outputs."""
        inlined = body.inline(bindings, turn)
        self.scope.constants |= body.constants
        self.scope.ignore(inlined.unread)
        self.scope.reserve(name for node in inlined.nodes for name in node.output)
        for inner in inlined.nodes:
            self.scope.convert(inner)
        return inlined.outputs

    def counters(self, body: Body, turn: int) -> list[str]:
        """A turn's number and a condition that is true, of the ranks that the body of a Loop says."""
        names = self.named(f"{turn}/iteration", f"{turn}/condition")
        inputs = {value.name: value for value in body.graph.input}
        for name, value, own in zip(names, (np.int64(turn), np.bool_(True)), body.inputs, strict=False):
            rank = len(inputs[own].type.tensor_type.shape.dim)
            self.scope.constants[name] = np.full((1,) * min(rank, 1), value)
        return names

    def give(self, names: Sequence[str]) -> None:
        """The node's outputs are these tensors."""
        for name, output in zip(names, self.node.output, strict=False):
            if not output or output in self.unread:
                continue
            if name in self.scope.constants:
                self.scope.constants[output] = self.scope.constants[name]
            elif name in self.scope.poisoned:
                self.scope.poisoned.add(output)
            else:
                self.add("Identity", [name], [output])

    def type_of(self, name: str) -> TensorType | None:
        value = self.scope.constants.get(name)
        return self.scope.type_of(name) if value is None else TensorType(value.dtype.name, value.shape)

    def stacked(self, names: Sequence[str], axis: int) -> str:
        """Values of all iterations along a new axis."""
        (result,) = self.named("stacked")
        parts = self.named(*("part" for _ in names))
        for name, part in zip(names, parts, strict=True):
            self.with_axis("Unsqueeze", name, axis, part)
        self.add("Concat", parts, [result], axis=axis)
        return result

    def with_axis(self, kind: str, name: str, axis: int, result: str) -> None:
        """Unsqueeze or Squeeze, whose axes are an input from opset 13 on."""
        if self.scope.opset < 13:
            self.add(kind, [name], [result], axes=[axis])
        else:
            self.add(kind, [name, self.integers(axis)], [result])

    def integers(self, *values: int) -> str:
        """A constant."""
        (name,) = self.named("constant")
        self.scope.constants[name] = np.array(values, np.int64)
        return name

    def named(self, *hints: str) -> list[str]:
        """Names that are not in use."""
        found = []
        for hint in hints:
            name, number = f"{self.name}/{hint}", 1
            while name in self.scope.taken:
                number += 1
                name = f"{self.name}/{hint}_{number}"
            self.scope.taken.add(name)
            found.append(name)
        return found

    def add(self, kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: object) -> None:
        self.scope.reserve(outputs)
        self.scope.convert(helper.make_node(kind, inputs, outputs, name=f"{self.name}/{kind}", **attributes))

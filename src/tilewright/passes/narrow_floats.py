"""Layers that kernels compute in 16 bits are stored in 16 bits, with Casts where a neighbour stays in 32 bits."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph, Node, rebuild
from tilewright.ir.half_floats import LARGEST
from tilewright.ir.types import Array, element
from tilewright.ir.unused import drop_unused
from tilewright.ops.cast import Cast
from tilewright.ops.identity import Identity
from tilewright.passes import APPROXIMATE, Pass

Short = Callable[[Graph, Node], Collection[str] | None]
"""The float32 operands of a node that are to be in 16 bits; None where the node stays as it is."""


def run(graph: Graph, dtype: str, short: Short) -> Graph:
    made = _Narrowed(graph, dtype, short, rebuild(graph))
    for node in graph.nodes:
        made.add(node)
    return made.finished()


@dataclass
class _Narrowed:
    """A graph that grows node by node. A tensor has two forms, of which a Cast makes the one that is asked for."""

    graph: Graph
    dtype: str
    short: Short
    builder: Builder
    shorts: dict[str, str] = field(default_factory=dict)
    """Tensor -> what it is called in 16 bits."""
    floats: dict[str, str] = field(default_factory=dict)
    """Of those, tensor -> what it is called in 32 bits."""
    kept: list[Node] = field(default_factory=list)
    """Nodes that compute floats in 32 bits."""

    def add(self, node: Node) -> None:
        self.builder.node_name = node.name
        if isinstance(node.op, Cast) and self._is_cast(node, node.op):
            return
        wanted = self._wanted(node)
        if wanted is None:
            self._copy(node)
            return
        operands = node.op.operand_names(len(node.inputs))
        inputs = [
            self._as_short(tensor) if name in wanted else self._as_float(tensor)
            for name, tensor in zip(operands, node.inputs, strict=True)
        ]
        outputs = [self._result(tensor) for tensor in node.outputs]
        self.builder.add(node.op, inputs, outputs, node.name)
        for tensor, own in zip(node.outputs, outputs, strict=True):
            if own and self.builder.types[own].dtype == self.dtype:
                self.shorts[tensor] = own

    def _wanted(self, node: Node) -> Collection[str] | None:
        if not node.op.view:
            return self.short(self.graph, node)
        first = node.inputs[0]
        return node.op.operand_names(1) if first in self.shorts and first not in self.graph.constants else None

    def _is_cast(self, node: Node, op: Cast) -> bool:
        """Whether a Cast of the network is between both forms of a tensor, which are there anyway."""
        source, result = node.inputs[0], node.outputs[0]
        if op.to == "float32" and self.graph.types[source].dtype == self.dtype:
            self.shorts[result] = source
            return True
        if op.to == self.dtype and source in self.shorts:
            self.builder.add(Identity(), [self.shorts[source]], [result], node.name)
            return True
        return False

    def _copy(self, node: Node) -> None:
        inputs = [self._as_float(tensor) for tensor in node.inputs]
        self.builder.add(node.op, inputs, node.outputs, node.name)
        if not node.op.view and any(self.graph.types[name].dtype == "float32" for name in filter(None, node.outputs)):
            self.kept.append(node)

    def _result(self, tensor: str) -> str:
        """What a result is called that may come to be in 16 bits: its own name is for those who get it in 32."""
        is_seen = tensor in self.graph.sinks and self.graph.types[tensor].dtype == "float32"
        return self.builder.fresh(f"{tensor}_{self.dtype}") if is_seen else tensor

    def _as_short(self, tensor: str) -> str:
        if tensor not in self.shorts:
            array, name = self.graph.constants.get(tensor), f"{tensor}_{self.dtype}"
            if array is None:
                (self.shorts[tensor],) = self.builder.add(Cast(self.dtype), [tensor], [self.builder.fresh(name)])
            else:
                self.shorts[tensor] = self.builder.constant(_shortened(array, tensor, self.dtype), name)
        return self.shorts[tensor]

    def _as_float(self, tensor: str) -> str:
        short = self.shorts.get(tensor)
        if short is None or (tensor != short and tensor in self.builder.types):
            return tensor
        if tensor not in self.floats:
            name = tensor if tensor in self.graph.sinks else self.builder.fresh(f"{tensor}_float32")
            (self.floats[tensor],) = self.builder.add(Cast(), [short], [name])
        return self.floats[tensor]

    def finished(self) -> Graph:
        for tensor in self.graph.sinks:
            self._as_float(tensor)
        if self.kept:
            self.builder.note(_note(self.kept, self.dtype))
        self.builder.copy_outputs(self.graph, self._standing)
        return drop_unused(self.builder.build())

    def _standing(self, tensor: str) -> str:
        return self.floats.get(tensor, tensor)


def _shortened(array: Array, tensor: str, dtype: str) -> Array:
    largest = float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
    if largest > LARGEST[dtype]:
        raise CompileError(
            f"constant '{tensor}'", f"has {largest:.6g}, and the largest {dtype} is {LARGEST[dtype]:.6g}",
            "--precision bf16 has the range of float32",
        )  # fmt: skip
    return array.astype(element(dtype))


MOST_NAMED = 8


def _note(kept: list[Node], dtype: str) -> str:
    named = [f"'{node.name}' ({node.op.kind})" for node in kept[:MOST_NAMED]]
    more = [f"{len(kept) - MOST_NAMED} more"] if len(kept) > MOST_NAMED else []
    return f"stored in float32, as there is no kernel for {dtype}: {', '.join([*named, *more])}"


def narrow_floats(dtype: str, short: Short) -> Pass:
    return Pass(f"floats as {dtype}", partial(run, dtype=dtype, short=short), numbers=APPROXIMATE)

"""Small integer graphs in the making, and what passes do to them. Shared by the tests of passes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.support.checks import same
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, TensorType
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.transpose import Transpose
from tilewright.passes import Pass, apply

RANDOM = np.random.default_rng(7)


def integers(dtype: str, *shape: int, low: int = -128, high: int = 127) -> Array:
    return RANDOM.integers(low, high, shape, endpoint=True).astype(dtype)


class Small:
    """A small graph in the making; everything is int8 unless said."""

    def __init__(self) -> None:
        self.builder = Builder("small")

    def input(self, name: str, *shape: int, dtype: str = "int8") -> str:
        return self.builder.input(name, TensorType(dtype, shape))

    def constant(self, array: Array) -> str:
        return self.builder.constant(array)

    def add(self, op: Op, *inputs: str) -> str:
        return self.builder.add(op, inputs)[0]

    def requant(self, x: str, axis: int = -1, shift: int = 10, dtype: str = "int8") -> str:
        channels = 1 if axis < 0 else self.builder.types[x].shape[axis]
        mul, add = integers("int32", channels, low=1, high=99), integers("int32", channels, low=-999, high=999)
        return self.add(RequantShift(full_range(shift, dtype), axis), x, self.constant(mul), self.constant(add))

    def shape(self, x: str) -> tuple[int, ...]:
        return self.builder.types[x].shape

    def graph(self, *outputs: str) -> Graph:
        for name in outputs:
            self.builder.output(name)
        return self.builder.build()


def feeds_of(graph: Graph) -> dict[str, Array]:
    kinds: Mapping[str, TensorType] = {name: graph.types[name] for name in graph.inputs}
    low = {"uint8": 0, "uint16": 0}
    return {name: integers(kind.dtype, *kind.shape, low=low.get(kind.dtype, -128)) for name, kind in kinds.items()}


def changed_by(graph: Graph, *passes: Pass) -> Graph:
    """The graph after the passes, which must give the same outputs: integers to the bit."""
    changed, feeds = apply(graph, passes), feeds_of(graph)
    before, after = evaluate(graph, feeds), evaluate(changed, feeds)
    assert changed.inputs == graph.inputs
    assert changed.output_names == graph.output_names
    for old, new in zip(graph.outputs, changed.outputs, strict=True):
        same(after[new], before[old])
    return changed


def kinds(graph: Graph) -> list[str]:
    return [node.op.kind for node in graph.nodes]


def transposed_bytes(graph: Graph) -> int:
    return sum(graph.types[node.key].bytes for node in graph.nodes if isinstance(node.op, Transpose))

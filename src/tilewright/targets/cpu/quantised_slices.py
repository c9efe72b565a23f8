"""Slices of floats that are quantised are read where they are, if their elements are neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import ClassVar

from tilewright.ir.affine import whole
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType, limits
from tilewright.ops._internal import Internal
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.slice import Slice
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.targets.generic.quantised import NARROW


@dataclass(frozen=True)
class QuantisedSlice(Internal):
    """A slice, then quantised with one scale."""

    operands: ClassVar[tuple[str, ...]] = ("X", "scale", "zero")
    slice: Slice = field(default_factory=Slice)
    quantise: QuantizeLinear = field(default_factory=QuantizeLinear)

    def index(self, shapes: Shapes) -> Index:
        own = {name: tuple(map(whole, shapes[name])) for name in ("scale", "zero")}
        return {**self.slice.index({"X": shapes["X"]}), **own}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return self.slice.extents(shapes)

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(self.extents(shapes))

    def check(self, types: Mapping[str, TensorType]) -> None:
        self.slice.check({"X": types["X"]})
        self.quantise.check({**types, "X": TensorType(types["X"].dtype, self.slice.sizes)})

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.quantise.result_dtypes(dtypes)

    def numpy(self, X: Array, scale: Array, zero: Array) -> Array:
        return self.quantise.numpy(self.slice.numpy(X), scale, zero)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        low, high = limits(types["Y"].dtype)
        start, _ = self.slice.walk(types["X"].shape)
        return {"start": start, "count": types["Y"].elements, "low": low, "high": high}


def run(graph: Graph) -> Graph:
    def read_in_place(node: Node, builder: Builder) -> dict[str, str] | None:
        cut = _cut_before(graph, node)
        if cut is None or not isinstance(cut.op, Slice) or not isinstance(node.op, QuantizeLinear):
            return None
        builder.add(QuantisedSlice(cut.op, node.op), [cut.inputs[0], *node.inputs[1:]], node.outputs, node.name)
        return {node.key: node.key}

    return rewrite(graph, read_in_place)


def _cut_before(graph: Graph, node: Node) -> Node | None:
    """The slice that a node quantises with one scale, if its elements are neighbours and nobody else reads it."""
    if not isinstance(node.op, QuantizeLinear) or graph.types[node.inputs[1]].elements != 1:
        return None
    cut = graph.producers.get(node.inputs[0])
    if cut is None or not isinstance(cut.op, Slice) or cut.key in graph.sinks or len(graph.consumers[cut.key]) > 1:
        return None
    return cut if are_neighbours(cut.op, graph.types[cut.inputs[0]].shape) else None


def are_neighbours(cut: Slice, shape: Shape) -> bool:
    """Whole axes behind one that is cut, and single positions before it."""
    partial = [axis for axis, size in enumerate(cut.sizes) if size != shape[axis]]
    last = max(partial, default=0)
    return set(cut.steps) == {1} and math.prod(cut.sizes[:last]) == 1 and math.prod(cut.sizes) > 0


def none_copied(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _cut_before(graph, node) is not None:
            yield node.where, "quantises a copy of neighbours"


QUANTISED_SLICES = Pass("slices are quantised in place", run, ensures=none_copied)
KERNEL = Kernel(
    QuantisedSlice, "quantised_slice.c", "X:float32 scale:float32 zero -> Y", {"zero": NARROW, "Y": NARROW}
)  # fmt: skip

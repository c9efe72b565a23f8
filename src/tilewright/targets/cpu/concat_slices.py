"""A Concat reads slices of tensors where they are, if all of a slice lies in one piece: caches of one layer of many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops.concat import Concat
from tilewright.ops.slice import Slice
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass


@dataclass(frozen=True)
class ConcatSlices(Internal):
    """Operands one after the other along an axis; of each the elements from one on, as a tensor of some shape."""

    operands: ClassVar[tuple[str, ...]] = ("X*",)
    axis: int = 0
    starts: Shape = ()
    shapes: tuple[Shape, ...] = ()

    def index(self, shapes: Shapes) -> Index:
        read = {name: tuple(map(whole, shape)) for name, shape in shapes.items()}
        return {**read, "Y": axis_loops(len(self.shapes[0]))}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(self._result)}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(self.extents(shapes))

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return (self._result,)

    @property
    def _result(self) -> Shape:
        sizes = list(self.shapes[0])
        sizes[self.axis] = sum(shape[self.axis] for shape in self.shapes)
        return tuple(sizes)

    def numpy(self, *X: Array) -> Array:
        parts = zip(X, self.starts, self.shapes, strict=True)
        read = [x.reshape(-1)[start : start + math.prod(shape)].reshape(shape) for x, start, shape in parts]
        return np.concatenate(read, self.axis)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        inner = math.prod(self._result[self.axis + 1 :])
        return {
            "rows": math.prod(self._result[: self.axis]), "count": len(self.starts), "start": list(self.starts),
            "length": [shape[self.axis] * inner for shape in self.shapes],
        }  # fmt: skip


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_read, graph))


def _read(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    origins = _origins(graph, node)
    if not origins or not isinstance(node.op, Concat):
        return None
    tensors, starts = zip(*origins, strict=True)
    op = ConcatSlices(node.op.axis, starts, tuple(graph.types[name].shape for name in node.inputs))
    builder.add(op, tensors, node.outputs, node.name)
    return {node.key: node.key}


def _origins(graph: Graph, node: Node) -> list[tuple[str, int]]:
    """What each operand of a Concat is read from, and at which element; empty where no operand is a slice."""
    if not isinstance(node.op, Concat):
        return []
    found = [_origin(graph, node, name) for name in node.inputs]
    return found if [name for name, _ in found] != list(node.inputs) else []


def _origin(graph: Graph, reader: Node, tensor: str) -> tuple[str, int]:
    maker, made = graph.producers.get(tensor), tensor
    while maker is not None and maker.op.view and is_only_reader(graph, reader, made):
        reader, made = maker, maker.inputs[0]
        maker = graph.producers.get(made)
    if maker is None or not isinstance(maker.op, Slice) or not is_only_reader(graph, reader, made):
        return tensor, 0
    shape = graph.types[maker.inputs[0]].shape
    return (maker.inputs[0], maker.op.walk(shape)[0]) if _is_one_piece(maker.op, shape) else (tensor, 0)


def _is_one_piece(op: Slice, shape: Shape) -> bool:
    """One element along the first axes, some neighbours along the next, and all of those after it."""
    first = next((axis for axis, size in enumerate(op.sizes) if size != 1), len(shape))
    return op.sizes[first + 1 :] == shape[first + 1 :] and set(op.steps[first:]) <= {1} and 0 not in op.sizes


def all_read(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _origins(graph, node):
            yield node.where, "joins what a Slice copies"


READ_SLICES = Pass("Concats read slices", run, ensures=all_read)

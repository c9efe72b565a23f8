"""Layers with constants that are too large in parts, each with a part of the constant; a Concat joins their results.

For memories that have no room for the whole constant at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from tilewright.ir.affine import Box
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ops.concat import Concat
from tilewright.ops.slice import of_ranges
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.tiling.tiles import Cut, TileGrid
from tilewright.tiling.windows import Window, window

MULTIPLE = 16
"""Parts begin at multiples of this where they are so large: kernels take several columns or filters at a time."""


@dataclass(frozen=True)
class Split:
    """A layer in parts along one of its loops."""

    cut: Cut
    axis: int
    """Of the result, along which the parts lie."""
    sliced: int
    """Bytes of activations of which the parts have to be copied."""


def splitting_constants(most: int) -> Pass:
    """For a memory that has room for constants of so many bytes."""
    return Pass("split constants", partial(split_constants, most=most), ensures=partial(no_large_constants, most=most))


def split_constants(graph: Graph, most: int) -> Graph:
    """The graph in which no layer that can be split reads a constant of more than `most` bytes; the same one where
    none has to be."""
    # A part may still read another constant that is too large.
    while found := {node.key: split for node in graph.nodes if (split := split_of(graph, node, most)) is not None}:
        graph = rewrite(graph, partial(_split, graph, found))
    return graph


def no_large_constants(graph: Graph, most: int) -> Iterator[Complaint]:
    for node in graph.nodes:
        if split_of(graph, node, most) is not None:
            yield node.where, f"reads a constant of more than {most} bytes and can be split"


def _split(graph: Graph, found: Mapping[str, Split], node: Node, builder: Builder) -> Mapping[str, str] | None:
    return _parts(graph, node, builder, found.get(node.key))


def split_of(graph: Graph, node: Node, most: int) -> Split | None:
    """How to split a layer so that no part of its largest constant has more than `most` bytes; None if in no way."""
    sizes = {name: graph.types[tensor].bytes for name, tensor in node.operands().items() if tensor in graph.constants}
    if max(sizes.values(), default=0) <= most or not all(node.outputs) or type(node.op).footprint is not Op.footprint:
        return None
    largest = max(sizes, key=lambda name: sizes[name])
    found = [split for split in _splits(graph, node, largest, most) if _reaches(graph, node, split, largest, most)]
    return min(found, key=lambda split: (split.sliced, split.axis), default=None)


def _splits(graph: Graph, node: Node, largest: str, most: int) -> Iterator[Split]:
    shapes, constant = graph.operand_shapes(node), graph.types[node.operands()[largest]].bytes
    index, extents = node.op.index(shapes), node.op.extents(shapes)
    fixed = node.op.unsplittable(shapes) | node.op.reductions(shapes)
    results = [index[name] for name in node.results()]
    # Several results are joined along one axis, if they have it in common.
    for axis, expression in enumerate(results[0]):
        if any(one[axis : axis + 1] != (expression,) for one in results):
            continue
        # With one loop along the axis, the windows of the parts follow each other.
        for loop in [name for name in expression.loops if extents[name] == graph.types[node.key].shape[axis]]:
            moved = {name for name, axes in index.items() if any(loop in position.loops for position in axes)}
            if loop in fixed or largest not in moved:
                continue
            size = _rounded(extents[loop] * most // constant)
            copied = [tensor for name, tensor in node.operands().items() if name in moved]
            sliced = sum(graph.types[tensor].bytes for tensor in copied if tensor not in graph.constants)
            if size:
                yield Split(Cut(loop, extents[loop], size), axis, sliced)


def _reaches(graph: Graph, node: Node, split: Split, largest: str, most: int) -> bool:
    grid = _grid(graph, node, split)
    return grid.axes is not None and grid.largest(largest) <= most


def _rounded(size: int) -> int:
    return size // MULTIPLE * MULTIPLE if size >= MULTIPLE else size


def _grid(graph: Graph, node: Node, split: Split) -> TileGrid:
    return TileGrid.of(node.op, graph.all_types(node), tuple(node.results()), (split.cut,))


def _parts(graph: Graph, node: Node, builder: Builder, split: Split | None) -> Mapping[str, str] | None:
    if split is None:
        return None
    for whole, parts in zip(node.outputs, zip(*add_parts(graph, node, builder, split), strict=True), strict=True):
        builder.add(Concat(split.axis), parts, [whole], node.name)
    return {name: name for name in node.outputs}


def add_parts(graph: Graph, node: Node, builder: Builder, split: Split) -> Iterator[tuple[str, ...]]:
    """The results of a layer's parts, each added when it is asked for."""
    grid = _grid(graph, node, split)
    return (_part(graph, node, builder, grid, {split.cut.loop: index}) for index in range(split.cut.count))


def _part(graph: Graph, node: Node, builder: Builder, grid: TileGrid, indices: Mapping[str, int]) -> tuple[str, ...]:
    box = grid.box(indices)
    names = iter(node.operands())
    inputs = [tensor and _window(graph, builder, grid, next(names), tensor, box) for tensor in node.inputs]
    return builder.add(grid.local_op(indices), inputs, None, node.name)


def _window(graph: Graph, builder: Builder, grid: TileGrid, name: str, tensor: str, box: Box) -> str:
    """What a part sees of an operand."""
    shape = graph.types[tensor].shape
    seen = window(grid.op.footprint(grid.shapes, box)[name], shape)
    if all((part.start, part.stop) == (0, size) for part, size in zip(seen, shape, strict=True)):
        return tensor
    if tensor in graph.constants:
        return builder.constant(np.ascontiguousarray(graph.constants[tensor][seen]), tensor)
    return builder.add(of_ranges(shape, _ranges(seen)), [tensor], None, f"part of {tensor}")[0]


def _ranges(seen: Window) -> dict[int, tuple[int, int, int]]:
    return {axis: (part.start, part.stop, 1) for axis, part in enumerate(seen)}

"""An operator computed tile by tile in numpy: what every tiling of it has to give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from tilewright.ir.affine import Box, Span
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shapes, type_of
from tilewright.tiling.windows import window


def evaluate_tiled(op: Op, arrays: Sequence[Array | None], tile: Mapping[str, int]) -> tuple[Array, ...]:
    """What the operator gives when it is computed tile by tile; equals `op.numpy` on the whole."""
    with np.errstate(all="ignore"):
        return _evaluate_tiles(op, arrays, tile)


def _evaluate_tiles(op: Op, arrays: Sequence[Array | None], tile: Mapping[str, int]) -> tuple[Array, ...]:
    operands = op.bind(list(arrays))
    shapes = {name: array.shape for name, array in operands.items()}
    types = op.infer({name: type_of(array) for name, array in operands.items()})
    results = [np.zeros(kind.shape, kind.element) for kind in types]
    split = any(_is_split(op, shapes, box) for box in boxes(op, shapes, tile))
    partial: dict[tuple[Span, ...], Array] = {}
    for box in boxes(op, shapes, tile):
        footprint = op.footprint(shapes, box)
        views = [_view(array, footprint, name) for name, array in _named(op, arrays)]
        local = op.at(shapes, box)
        if not split:
            _store(op, results, footprint, local.numpy(*views))
            continue
        kept = tuple(span for loop, span in box.items() if loop not in op.reductions(shapes))
        part = local.accumulate(*views)
        partial[kept] = op.combine(partial[kept], part) if kept in partial else part
        if _is_last(op, shapes, box):
            _store(op, results, footprint, op.finish(partial[kept], shapes, *views))
    return tuple(results)


def boxes(op: Op, shapes: Shapes, tile: Mapping[str, int]) -> Iterator[Box]:
    """The loop nest cut into tiles of the given sizes, reductions innermost."""
    extents = op.extents(shapes)
    fixed, inner = op.unsplittable(shapes), op.reductions(shapes)
    loops = sorted(extents, key=lambda loop: loop in inner)
    sizes = {loop: extents[loop] if loop in fixed else tile.get(loop, extents[loop]) for loop in loops}
    cuts = [
        [(at, min(at + sizes[loop], extents[loop])) for at in _starts(extents[loop], sizes[loop])] for loop in loops
    ]
    for ranges in product(*cuts):
        yield dict(zip(loops, ranges, strict=True))


def _starts(extent: int, size: int) -> range:
    return range(0, extent, max(size, 1)) if extent else range(1)


def _is_split(op: Op, shapes: Shapes, box: Box) -> bool:
    extents = op.extents(shapes)
    return any(box[loop] != (0, extents[loop]) for loop in op.reductions(shapes) if loop in box)


def _is_last(op: Op, shapes: Shapes, box: Box) -> bool:
    extents = op.extents(shapes)
    return all(box[loop][1] == extents[loop] for loop in op.reductions(shapes) if loop in box)


def _named(op: Op, arrays: Sequence[Array | None]) -> list[tuple[str, Array | None]]:
    return list(zip(op.operand_names(len(arrays)), arrays, strict=True))


def _view(array: Array | None, footprint: Mapping[str, tuple[Span, ...]], name: str) -> Array | None:
    return None if array is None else array[window(footprint[name], array.shape)]


def _store(
    op: Op, results: Sequence[Array], footprint: Mapping[str, tuple[Span, ...]], values: Array | tuple[Array, ...]
) -> None:
    parts = values if isinstance(values, tuple) else (values,)
    for name, result, part in zip(op.result_names(len(results)), results, parts, strict=True):
        result[window(footprint[name], result.shape)] = part

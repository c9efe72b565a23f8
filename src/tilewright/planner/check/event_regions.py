"""Where the events of a schedule read and write: windows of tensors as bytes, and which of them overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tilewright.planner.keys import PARAMS
from tilewright.planner.schedule.events import Region, Spans
from tilewright.tiling.tiles import TileGrid


def overlap(one: Region, other: Region) -> bool:
    if one.stop <= other.start or other.stop <= one.start:
        return False
    if one.owner and (one.owner, one.frame, one.base) == (other.owner, other.frame, other.base):
        return all(a < d and c < b for (a, b), (c, d) in zip(one.box, other.box, strict=True))
    return True


def extent(region: Region, element: int) -> tuple[int, int]:
    """Bytes from the start of a window's home to its first, and to the one behind its last."""
    if not elements(region.box):
        return 0, 0
    low, high, stride = 0, element, element
    for (first, last), size in zip(reversed(region.box), reversed(region.frame), strict=True):
        low, high, stride = low + first * stride, high + (last - 1) * stride, stride * size
    return low, high


def of_layer(region: Region, layer: int) -> Region:
    """Parameters of two layers are not the same though they look alike."""
    return replace(region, spans=((layer, layer + 1),)) if region.role == PARAMS else region


def elements(spans: Iterable[tuple[int, int]]) -> int:
    return math.prod(last - first for first, last in spans)


def clipped(footprint: dict[str, Spans] | None, name: str, shape: Sequence[int]) -> Spans:
    if footprint is None:
        return tuple((0, size) for size in shape)
    return tuple((max(first, 0), min(last, size)) for (first, last), size in zip(footprint[name], shape, strict=True))


def place(region: Region) -> str:
    return f"{region.memory}+{region.start}..{region.stop}"


def footprint(grid: TileGrid, indices: Mapping[str, int]) -> dict[str, Spans]:
    """What the operator looks at in a tile of a grid with cuts. Where windows are to lie in one piece, they have all of
    an axis that no cut moves."""
    found = grid.op.footprint(grid.shapes, grid.box(indices))
    if not grid.whole_axes:
        return found
    index, moved = grid.op.index(grid.shapes), {cut.loop for cut in grid.cuts}
    return {
        name: tuple(
            span if moved & set(axis.loops) else (0, size)
            for axis, span, size in zip(index[name], found[name], grid.types[name].shape, strict=True)
        )
        for name in grid.types
    }

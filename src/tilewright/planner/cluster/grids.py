"""The grids that a layer may be cut into: which of its loops are cut, and into how many parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from tilewright.planner.cluster.tiling_option import Layer
from tilewright.target.kernel import Kernel
from tilewright.tiling.tiles import Cut, TileGrid

PARTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Into how many parts a loop may be cut."""


def grids(layer: Layer, count: int) -> Iterator[TileGrid]:
    """The layer cut along `count` of its loops, in their own order; `sketches.py` weighs which of them is the outer
    one."""
    if not all(kind.elements for kind in layer.types.values()):
        return
    sizes = _sizes(layer)
    for loops in itertools.combinations(sizes, count):
        for combination in itertools.product(*(sizes[loop] for loop in loops)):
            grid = _cut(layer.whole, zip(loops, combination, strict=True))
            if grid.axes is not None:
                yield grid


def smallest_grid(layer: Layer) -> TileGrid:
    """The layer cut into the smallest tiles that its kernel takes."""
    return _cut(layer.whole, ((loop, lengths[-1]) for loop, lengths in _sizes(layer).items() if lengths))


def _cut(whole: TileGrid, sizes: Iterable[tuple[str, int]]) -> TileGrid:
    return whole.in_tiles(tuple(Cut(loop, whole.extents[loop], size) for loop, size in sizes))


def _sizes(layer: Layer) -> dict[str, list[int]]:
    """Tile sizes along each loop, largest first, without the whole."""
    return {loop: _tile_sizes(layer.kernel, loop, extent) for loop, extent in _splittable(layer).items()}


def _splittable(layer: Layer) -> dict[str, int]:
    op, shapes = layer.node.op, layer.whole.shapes
    if not op.can_be_cut and not op.uneven:
        return {}
    fixed = op.unsplittable(shapes) | op.reductions(shapes) | layer.kernel.unsplit_loops | op.uneven
    return {loop: extent for loop, extent in layer.whole.extents.items() if loop not in fixed and extent > 1}


def _tile_sizes(kernel: Kernel, loop: str, extent: int) -> list[int]:
    multiple = kernel.multiples.get(loop, 1)
    sizes = {-(-extent // (parts * multiple)) * multiple for parts in (*PARTS, extent) if parts <= extent}
    least = kernel.min_tile.get(loop, 1)
    return sorted((size for size in sizes if size < extent and (extent % size or size) >= least), reverse=True)

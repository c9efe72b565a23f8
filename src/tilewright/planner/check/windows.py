"""A check of the shapes and commands of transfers, and of the addresses that kernels get: in every tile they are the
bytes of the window that the operator says the tile touches. Written without the planner's code, and without that of
`dma_shapes.py`."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence

from tilewright.errors import InternalError
from tilewright.ir.types import BYTES
from tilewright.planner.check.event_regions import footprint
from tilewright.planner.home import Home
from tilewright.planner.schedule.layer_schedule import (
    DMA_IN,
    DMA_IN_ROWS,
    DMA_IN_STRIDED,
    DMA_OUT,
    DMA_OUT_ROWS,
    STAGED_LOAD,
    STAGED_STORE,
    Argument,
    LayerSchedule,
    Move,
)
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.target import Target
from tilewright.tiling.dma_shapes import DmaShape, Level
from tilewright.tiling.tiles import TileGrid
from tilewright.tiling.windows import window

MOST_TILES = 32
"""Of a grid with more, those at the edges and beside them are looked at, and as many others."""

Tile = Mapping[str, int]
Runs = tuple[tuple[int, int], ...]
"""How many times what follows comes, and how many bytes apart, outermost first; the last are bytes side by side."""
Place = tuple[int, Runs]
"""The first byte, and the runs from there on."""


def check_windows(schedule: Schedule) -> None:
    """Raises `InternalError` for the first transfer or argument that is of other bytes than its window."""
    for layer in schedule.layers:
        tiles = list(_tiles(layer.option.grid))
        touched = _Touched(layer.option.grid)
        fetched = layer.prefetch.moves if layer.prefetch is not None else ()
        for move in (*layer.loads, *layer.stores, *fetched):
            _check_shape(layer, move.operand.name, move.shape, tiles, touched)
            _check_command(layer, move)
            _check_limit(layer, move)
        for argument in layer.arguments:
            _check_argument(layer, argument, tiles, touched)
        if layer.is_copied:
            _check_copy(layer, schedule.target)


def _tiles(grid: TileGrid) -> Iterator[Tile]:
    if grid.tiles <= MOST_TILES:
        yield from (grid.indices(tile) for tile in range(grid.tiles))
        return
    ends = [sorted({0, min(1, cut.count - 1), cut.count - 1}) for cut in grid.cuts]
    loops = [cut.loop for cut in grid.cuts]
    yield from (dict(zip(loops, indices, strict=True)) for indices in itertools.product(*ends))
    rng = random.Random(grid.tiles)
    yield from (grid.indices(rng.randrange(grid.tiles)) for _ in range(MOST_TILES))


# ---- windows --------------------------------------------------------------------------------------------------------


class _Touched:
    """What the operator itself says of every tile."""

    def __init__(self, grid: TileGrid) -> None:
        self.grid = grid
        self.footprints: dict[frozenset[tuple[str, int]], Mapping[str, Sequence[tuple[int, int]]]] = {}

    def place(self, name: str, tile: Tile) -> Place:
        """The bytes of a window, from the first byte of what its tensor lies in."""
        kind, inside = self.grid.types[name], self.grid.inside.get(name)
        # A layer that is not cut gets its tensors whole, also what it does not look at.
        spans = self._footprint(tile)[name] if self.grid.cuts else [(0, size) for size in kind.shape]
        seen = window(spans, kind.shape)
        frame = kind.shape if inside is None else inside.shape
        strides = [BYTES[kind.dtype] * math.prod(frame[axis + 1 :]) for axis in range(len(frame))]
        if inside is not None and inside.order:
            strides = [stride for _, stride in sorted(zip(inside.order, strides, strict=True))]
        first = sum(part.start * stride for part, stride in zip(seen, strides, strict=True))
        first += 0 if inside is None else inside.start * strides[inside.axis]
        counts = [(part.stop - part.start, stride) for part, stride in zip(seen, strides, strict=True)]
        return first, _joined([*counts, (BYTES[kind.dtype], 1)])

    def _footprint(self, tile: Tile) -> Mapping[str, Sequence[tuple[int, int]]]:
        key = frozenset(tile.items())
        if key not in self.footprints:
            self.footprints[key] = footprint(self.grid, tile)
        return self.footprints[key]


def _said(shape: DmaShape, tile: Tile) -> Place:
    """The bytes that a shape names."""
    starts = (level.axis.span(tile.get(level.axis.loop, 0))[0] * level.factor * level.stride for level in shape.levels)
    runs = [(_count(level, tile), level.stride) for level in shape.strided]
    return shape.start + sum(starts), _joined([*runs, (_count(shape.run, tile) * shape.run.stride, 1)])


def _count(level: Level, tile: Tile) -> int:
    return level.axis.elements(tile.get(level.axis.loop, 0)) * level.factor


def _joined(runs: Sequence[tuple[int, int]]) -> Runs:
    """As few runs as say the same; none for no bytes at all."""
    if any(count < 1 for count, _ in runs):
        return ()
    made: list[tuple[int, int]] = []
    for count, stride in reversed(runs):
        if made and made[-1][0] * made[-1][1] == stride:
            made[-1] = (count * made[-1][0], made[-1][1])
        elif count > 1 or not made:
            made.append((count, stride))
    return tuple(reversed(made))


def _check_shape(layer: LayerSchedule, name: str, shape: DmaShape, tiles: Sequence[Tile], touched: _Touched) -> None:
    loops = {cut.loop for cut in layer.option.grid.cuts}
    if any(level.axis.loop and level.axis.loop not in loops for level in shape.levels) or not shape.levels:
        raise _fault(layer, f"{name} moves with a loop that is not cut, or has no bytes")
    if any(level.axis.loop and level.axis.step < 1 for level in shape.levels):
        raise _fault(layer, f"{name} has a window that a loop moves nowhere")
    for tile in tiles:
        wanted, found = touched.place(name, tile), _said(shape, tile)
        if found[1] != wanted[1] or (wanted[1] and found[0] != wanted[0]):
            raise _fault(layer, f"{name} is {found} in tile {dict(tile)}, not {wanted}")
    # A level that never has more than one element would be a loop, or rows, for nothing.
    for level in shape.levels[:-1]:
        if level.many != (level.factor > 1 or level.axis.most > 1):
            raise _fault(layer, f"{name} has a level that is {'' if level.many else 'not '}said to be many")


def _check_limit(layer: LayerSchedule, move: Move) -> None:
    """A transfer leaves out what the operator says that it does not look at, and nothing else."""
    grid, name = layer.option.grid, move.operand.name
    allowed = grid.op.limits(grid.shapes).get(name)
    found = [level for level in move.shape.levels if level.limit is not None]
    if allowed is None or not _is_told(layer, move, allowed.operand):
        if found:
            raise _fault(layer, f"moves only a part of {name}")
        return
    if [level.limit for level in found] != [allowed]:
        raise _fault(layer, f"moves {[level.limit for level in found]} of {name}, not {allowed}")
    if found[0].axis.size != grid.types[name].shape[allowed.axis] or found[0].axis.loop:
        raise _fault(layer, f"limits another axis of {name} than the operator does")


def _is_told(layer: LayerSchedule, move: Move, operand: str) -> bool:
    """Whether it is known how much is there when the transfer begins."""
    told = next((one.operand for one in layer.arguments if one.operand.name == operand), None)
    fetched = layer.prefetch.moves if layer.prefetch is not None else ()
    return told is not None and move.staging is None and (told.is_ready or move not in fetched)


# ---- commands -------------------------------------------------------------------------------------------------------


def _check_command(layer: LayerSchedule, move: Move) -> None:
    if move.staging is not None:
        wanted = STAGED_STORE if move.operand.is_result else STAGED_LOAD
    elif move.operand.is_result:
        wanted = DMA_OUT_ROWS if move.shape.strided else DMA_OUT
    else:
        wanted = DMA_IN_ROWS if move.shape.strided else DMA_IN
    if move.command != wanted:
        raise _fault(layer, f"moves {move.operand.name} with {move.command}, not {wanted}")


def _check_argument(layer: LayerSchedule, argument: Argument, tiles: Sequence[Tile], touched: _Touched) -> None:
    """What lies where a kernel is told to look; how it lies there is among the kernel's parameters."""
    name = argument.operand.name
    if (argument.window is None) != (argument.buffer is not None):
        raise _fault(layer, f"{name} has a window and a buffer, or neither")
    if argument.window is not None:
        if any(level.limit is not None for level in argument.window.levels):
            raise _fault(layer, f"limits {name}, which is read where it lies")
        _check_shape(layer, name, argument.window, tiles, touched)


def _check_copy(layer: LayerSchedule, target: Target) -> None:
    """From or to L1: from a dense operand to where the result lies, or from where an operand lies apart to a dense
    result in L1."""
    by_name = {argument.operand.name: argument for argument in layer.arguments}
    source, result = by_name["X"], by_name["Y"]
    if source.window is None or result.window is None or layer.prefetch is None:
        raise _fault(layer, "is copied by DMA, from or to a buffer")
    into, out = _is_inside(result.home, target), _is_inside(source.home, target)
    strided = bool(result.window.strided)
    if source.window.strided:
        if strided or not into or out or layer.prefetch.copies != DMA_IN_ROWS:
            raise _fault(layer, f"is copied from {source.home} to {result.home} with {layer.prefetch.copies}")
        return
    wanted = (DMA_IN_STRIDED if strided else DMA_IN) if into else (DMA_OUT_ROWS if strided else DMA_OUT)
    if into == out or layer.prefetch.copies != wanted:
        raise _fault(layer, f"is copied from {source.home} to {result.home} with {layer.prefetch.copies}")


def _is_inside(home: Home, target: Target) -> bool:
    return home.is_in(target.paths.tiles.name)


def _fault(layer: LayerSchedule, what: str) -> InternalError:
    return InternalError(layer.option.node.where, what)

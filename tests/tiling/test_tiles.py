"""Windows of tiles: what the planner and the generated C compute is what the operator's geometry says."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.tiling.random_grids import CUT_OPERATORS, Random, random_grids
from tilewright.codegen.expressions import Expression, count, start
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, TensorType
from tilewright.ops.conv import Conv
from tilewright.tiling.dma_shapes import DmaShape, cost, dma_shape
from tilewright.tiling.tiles import AxisWindow, Cut, Geometry, TileGrid
from tilewright.tiling.windows import Window, window

pytestmark = pytest.mark.fast

every_operator = pytest.mark.parametrize("operator", CUT_OPERATORS, ids=lambda operator: operator.__name__)


def footprints(grid: TileGrid, indices: dict[str, int]) -> dict[str, Window]:
    """By the operator itself."""
    found = grid.op.footprint(grid.shapes, grid.box(indices))
    return {name: window(found[name], kind.shape) for name, kind in grid.types.items()}


def by_axes(grid: TileGrid, name: str, indices: dict[str, int]) -> Window:
    assert grid.axes is not None
    return tuple(slice(*axis.span(indices.get(axis.loop, 0))) for axis in grid.axes[name])


def outer_shape(grid: TileGrid, name: str) -> tuple[int, ...]:
    """Of the tensor itself, or of the larger one that it lies in."""
    place = grid.inside.get(name)
    return grid.types[name].shape if place is None else place.shape


def in_outer(grid: TileGrid, name: str, spans: Window) -> Window:
    """A window as one of the larger tensor."""
    place = grid.inside.get(name)
    if place is None:
        return spans
    moved = slice(spans[place.axis].start + place.start, spans[place.axis].stop + place.start)
    return (*spans[: place.axis], moved, *spans[place.axis + 1 :])


def volume(spans: Window) -> int:
    return math.prod(span.stop - span.start for span in spans)


@pytest.mark.in_turns(8)
@every_operator
@examples(6)
@given(data=st.data())
def test_windows(operator: type[Op], data: st.DataObject) -> None:
    drawn = data.draw(random_grids(operator))
    grid = drawn.grid
    _check_windows(drawn)
    _check_cover(drawn)
    for name in grid.types:
        _check_sizes(drawn, name)
        _check_transfers(drawn, name)
        _check_expressions(grid, name)


def _check_windows(drawn: Random) -> None:
    grid = drawn.grid
    for indices in drawn.tiles():
        wanted = footprints(grid, indices) if grid.cuts else {}
        for name in wanted:
            assert by_axes(grid, name, indices) == wanted[name], name


def _check_cover(drawn: Random) -> None:
    """Every element of every result is made by exactly one tile."""
    for name in drawn.grid.results:
        made = np.zeros(drawn.grid.types[name].shape, int)
        for indices in drawn.tiles():
            made[by_axes(drawn.grid, name, indices)] += 1
        assert np.all(made == 1), name


def _check_sizes(drawn: Random, name: str) -> None:
    grid = drawn.grid
    windows = [by_axes(grid, name, indices) for indices in drawn.tiles()]
    largest = max(map(volume, windows)) * BYTES[grid.types[name].dtype]
    assert grid.largest(name) >= largest
    assert cost(grid, name)[2] == grid.largest(name)
    if grid.is_contiguous(name):
        shape = outer_shape(grid, name)
        positions = np.arange(math.prod(shape)).reshape(shape)
        for spans in windows:
            assert np.all(np.diff(positions[in_outer(grid, name, spans)].reshape(-1)) == 1)


def _check_transfers(drawn: Random, name: str) -> None:
    """The levels of a transfer name the bytes of the window, in order."""
    grid = drawn.grid
    item, outer = BYTES[grid.types[name].dtype], outer_shape(grid, name)
    memory = np.random.default_rng(0).integers(0, 256, (*outer, item), np.uint8)
    shape = dma_shape(grid, name)
    for indices in drawn.tiles():
        spans = in_outer(grid, name, by_axes(grid, name, indices))
        assert moved(shape, memory.tobytes(), indices, item) == memory[spans].tobytes(), (name, indices)


def moved(shape: DmaShape, memory: bytes, indices: dict[str, int], item: int) -> bytes:
    """What a DMA engine copies that follows the levels."""

    def elements(axis: AxisWindow) -> int:
        return axis.elements(indices.get(axis.loop, 0))

    starts = [0]
    first = shape.start + sum(
        level.axis.span(indices.get(level.axis.loop, 0))[0] * level.factor * level.stride for level in shape.levels
    )
    for level in shape.strided:
        starts = [at + i * level.stride for at in starts for i in range(elements(level.axis) * level.factor)]
    run = elements(shape.run.axis) * shape.run.factor * item
    return b"".join(memory[first + at : first + at + run] for at in starts)


def _check_expressions(grid: TileGrid, name: str) -> None:
    """The C of where a window starts and how long it is."""
    assert grid.axes is not None
    counts = {cut.loop: cut.count for cut in grid.cuts}
    for axis in grid.axes[name]:
        for index in range(counts.get(axis.loop, 1)):
            first, stop = axis.span(index)
            assert value(start(axis), axis.loop, index) == first
            assert value(count(grid, axis), axis.loop, index) == stop - first


def value(expression: Expression, loop: str, index: int) -> int:
    found = eval(str(expression), {"tw_min": min, "tw_max": max, **({loop: index} if loop else {})})
    assert isinstance(found, int)
    return found


def test_the_longest_window_may_be_anywhere() -> None:
    """With much more padding on one side than on the other, no tile at the ends or in the middle is the largest."""
    op = Conv((1, 1), (1, 1), (5, 0, 10, 0))
    types = {"X": TensorType("int8", (1, 1, 12, 3)), "W": TensorType("int8", (1, 1, 11, 3))}
    (result,) = op.infer(types)
    grid = TileGrid.of(op, {**types, "Y": result}, ("Y",), (Cut("y", result.shape[2], 1),))
    windows = [by_axes(grid, "X", grid.indices(tile)) for tile in range(grid.tiles)]
    assert grid.largest("X") == max(map(volume, windows)) == 33


@pytest.mark.in_turns(8)
@every_operator
@examples(4)
@given(data=st.data())
def test_what_grids_share_is_what_each_finds_alone(operator: type[Op], data: st.DataObject) -> None:
    drawn = data.draw(random_grids(operator))
    whole = replace(drawn.grid, cuts=())
    for cuts in (drawn.grid.cuts[:most] for most in range(1, len(drawn.grid.cuts) + 1)):
        grid = whole.in_tiles(cuts)
        alone = Geometry(grid.op, grid.types, grid.results)
        by_loop = {cut.loop: cut for cut in cuts}
        assert grid.axes == {name: alone.windows(name, by_loop) for name in grid.types}
        for indices in [grid.indices(tile) for tile in range(min(grid.tiles, 20))]:
            shapes = {name: tuple(s.stop - s.start for s in spans) for name, spans in footprints(grid, indices).items()}
            assert {name: kind.shape for name, kind in grid.local_types(indices).items()} == shapes
            assert grid.local_op(indices) == grid.op.at(grid.shapes, grid.box(indices))

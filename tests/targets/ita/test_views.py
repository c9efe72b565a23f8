"""Tiles of rows outside of the TCDM are made by transfers, and ITA's layers follow each other without waits."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.types import TensorType
from tilewright.ops.identity import Identity
from tilewright.targets.ita.layout import as_tiles
from tilewright.targets.ita.tiling import ItaTiles, RowsOfTiles, TilesOfRows
from tilewright.tiling.dma_shapes import apart, cost, dma_shape
from tilewright.tiling.tiles import Cut, Inside, TileGrid

pytestmark = pytest.mark.fast
ROWS, COLUMNS = 128, 192


def copied() -> TileGrid:
    """Tiles that lie among rows, as a copy reads them."""
    kind = TensorType("int8", (ROWS // 64, COLUMNS // 64, 64, 64))
    _, order = TilesOfRows().bytes_order({"X": (ROWS, COLUMNS)})
    place = Inside(tuple(kind.shape[axis] for axis in order), 0, 0, order)
    return TileGrid.of(Identity(copy=True), {"X": kind, "Y": kind}, ("Y",), inside={"X": place})


def test_views_are_the_operators_that_they_stand_for() -> None:
    x = np.random.default_rng(3).integers(-128, 128, (2, ROWS, COLUMNS)).astype(np.int8)
    assert np.array_equal(TilesOfRows().numpy(x), ItaTiles().numpy(x))
    assert np.array_equal(RowsOfTiles().numpy(as_tiles(x)), x)


def test_tiles_come_row_by_row() -> None:
    grid = copied()
    shape = dma_shape(grid, "X")
    assert [level.stride for level in shape.strided] == [64 * COLUMNS, 64, COLUMNS]
    assert apart(grid) == "X"
    assert not grid.is_contiguous("X")
    assert cost(grid, "X") == (6, 6 * 64, ROWS * COLUMNS)


def test_a_transfer_of_a_tile_is_the_tile() -> None:
    x = np.random.default_rng(4).integers(-128, 128, (ROWS, COLUMNS)).astype(np.int8)
    grid = copied().in_tiles((Cut("d1", COLUMNS // 64, 1),))
    shape = dma_shape(grid, "X")
    (run,) = {level.axis.most * level.factor for level in (shape.run,)}
    data, found = x.reshape(-1), []
    (a, r), (b, c) = ((level.axis.most * level.factor, level.stride) for level in shape.strided)
    start = sum(level.axis.span(2)[0] * level.factor * level.stride for level in shape.levels if level.axis.loop)
    for i in range(a):
        for j in range(b):
            at = start + i * r + j * c
            found.append(data[at : at + run])
    assert np.array_equal(np.concatenate(found).reshape(2, 64, 64), as_tiles(x)[:, 2])

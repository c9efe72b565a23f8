"""How matrices and biases lie in memory for ITA."""

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array

SIDE = 64
TILE_BYTES = SIDE * SIDE
BIAS_BYTES = 3 * SIDE
"""Of the columns of a tile."""


def tiles_of(size: int) -> int:
    return -(-size // SIDE)


def padded(matrix: Array) -> Array:
    """With zeros up to multiples of 64."""
    return np.pad(matrix, [(0, -size % SIDE) for size in matrix.shape])


def tiled(matrix: Array) -> Array:
    """Bytes of a matrix: tiles of 64 x 64, all of the first 64 rows first, each row by row. Weights are given
    transposed: a row for each column of the result."""
    rows, columns = (tiles_of(size) for size in matrix.shape)
    return np.ascontiguousarray(padded(matrix).reshape(rows, SIDE, columns, SIDE).transpose(0, 2, 1, 3)).reshape(-1)


def untiled(data: Array, rows: int, columns: int) -> Array:
    """The matrix of these sizes that lies in tiles."""
    down, across = tiles_of(rows), tiles_of(columns)
    whole = data.reshape(down, across, SIDE, SIDE).transpose(0, 2, 1, 3).reshape(down * SIDE, across * SIDE)
    return np.ascontiguousarray(whole[:rows, :columns])


def packed_bias(bias: Array) -> Array:
    """24 bits each, the lowest byte first, with zeros up to a multiple of 64 values."""
    words = padded(np.asarray(bias)).astype("<i4")
    return np.ascontiguousarray(words.view(np.uint8).reshape(-1, 4)[:, :3]).reshape(-1)

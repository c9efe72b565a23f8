"""How matrices and biases lie in memory for ITA."""

from __future__ import annotations

import math

import numpy as np

from tilewright.ir.types import Array
from tilewright.ops._packing import Packing

SIDE = 64
TILE_BYTES = SIDE * SIDE
BIAS_BYTES = 3 * SIDE
"""Of the columns of a tile."""


def tiles_of(size: int) -> int:
    return -(-size // SIDE)


TILES = Packing("n r c", "n r/64 c/64 r:64 c:64")
"""Matrices in tiles of 64 x 64, all of the first 64 rows first, each row by row. Weights are given transposed: a row
for each column of the result."""
BIASES = Packing("n", "(n/64 n:64 #)", 24)
"""24 bits each."""


def as_tiles(matrix: Array) -> Array:
    """[..., rows, columns] as [..., rows / 64, columns / 64, 64, 64], with zeros behind the last ones."""
    tiles = TILES.pack(matrix.reshape(-1, *matrix.shape[-2:]))
    return tiles.reshape(*matrix.shape[:-2], *tiles.shape[1:])


def as_matrix(tiles: Array) -> Array:
    """[..., rows, columns, 64, 64] as [..., rows * 64, columns * 64]."""
    matrix = tuple(count * SIDE for count in tiles.shape[-4:-2])
    return TILES.unpack(tiles, (math.prod(tiles.shape[:-4]), *matrix)).reshape(*tiles.shape[:-4], *matrix)


def packed_bias(bias: Array) -> Array:
    return BIASES.pack(np.asarray(bias))


def unpacked_bias(packed: Array) -> Array:
    """As int64."""
    codes = BIASES.unpack(packed, (packed.size // 3,)).astype(np.int64)
    return codes - (codes >> 23 << 24)

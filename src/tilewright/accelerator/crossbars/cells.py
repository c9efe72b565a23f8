"""What arrays of cells compute, in integers alone: the model in C (`crossbar.c`) gives the same to the bit.

A weight is the difference of two magnitudes, each in slices of a cell's bits; a crossbar's rows are the terms of a sum,
its columns slices of filters. Inputs come some bits at a time, columns are summed, and an ADC makes numbers of that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tilewright.ir.types import Array
from tilewright.records import dataclass

BYTE_BITS = 8
SIGNS = 2
ONE = 256
"""A cell's step of conductance, in the units in which noise is added."""
SHARE = 2**32
"""Of stuck cells: all of them."""
RANGE = 2**16
"""Of the ADC: all that a column may sum to."""
FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Of splitmix64."""
MOST_VECTORS = 1024
"""Computed at a time."""


@dataclass(frozen=True)
class Cells:
    """How cells are made, and where those of a layer lie."""

    rows: int
    columns: int
    cell_bits: int
    input_bits: int
    adc_bits: int
    """0 for an ADC that loses nothing."""
    adc_range: int
    """Of what a column may sum to, in parts of RANGE: what the ADC's highest number stands for."""
    noise: int
    """Of a cell that is written: what eight random bytes are multiplied by, in parts of 2**16 of ONE."""
    stuck: int
    """In parts of SHARE."""
    seed: int
    first: int = 0
    """Of the crossbars that hold the layer."""
    copies: int = 1
    """That take vectors in turn."""
    resident: int = 1
    """0 where they are written at every run."""

    @property
    def slices(self) -> int:
        """Of a magnitude."""
        return -(-BYTE_BITS // self.cell_bits)

    @property
    def phases(self) -> int:
        """In which an input is given."""
        return -(-BYTE_BITS // self.input_bits)

    @property
    def filters(self) -> int:
        """Whose columns a crossbar has."""
        return self.columns // (SIGNS * self.slices)

    def blocks(self, length: int, filters: int) -> tuple[int, int]:
        """Crossbars of one copy: along the sums, and along the filters."""
        return -(-length // self.rows), -(-filters // self.filters)

    def full_scale(self, rows: int) -> int:
        """What the ADC's highest number stands for."""
        most = rows * (2**self.input_bits - 1) * (2**self.cell_bits - 1)
        return max(1, most * self.adc_range >> 16)

    def is_exact(self, length: int) -> bool:
        """Whether products are those of integers."""
        full = self.full_scale(min(length, self.rows))
        lossless = not self.adc_bits or (self.adc_range >= RANGE and 2**self.adc_bits > full)
        return lossless and not self.noise and not self.stuck


def products(cells: Cells, x: Array, filters: Array) -> Array:
    """Vectors of unsigned bytes [v, k] times filters of signed ones [k, f], as the device gives them."""
    w = np.ascontiguousarray(filters, np.int8)
    total = np.zeros((len(x), w.shape[1]), np.int64)
    for copy in range(min(cells.copies, len(x))):
        total[copy :: cells.copies] = _of_copy(cells, x[copy :: cells.copies], w, copy)
    return total


def _of_copy(cells: Cells, x: Array, w: Array, copy: int) -> Array:
    total = np.zeros((len(x), w.shape[1]), np.int64)
    for block in range(cells.blocks(*w.shape)[0]):
        rows = slice(block * cells.rows, min((block + 1) * cells.rows, len(w)))
        matrix = _matrix(cells, w.tobytes(), w.shape[1], copy, block)
        for start in range(0, len(x), MOST_VECTORS):
            part = slice(start, start + MOST_VECTORS)
            total[part] += _of_block(cells, x[part, rows], matrix)
    return total


@lru_cache(maxsize=256)
def _matrix(cells: Cells, w: bytes, filters: int, copy: int, block: int) -> Array:
    """The conductances of a block, kept: networks are run many times."""
    found = conductances(cells, np.frombuffer(w, np.int8).reshape(-1, filters), copy, block)
    return found.reshape(len(found), -1).astype(np.float64)


def _of_block(cells: Cells, x: Array, matrix: Array) -> Array:
    """Of a crossbar's rows: sums of columns are exact in doubles."""
    found = np.zeros((len(x), matrix.shape[1] // (SIGNS * cells.slices)), np.int64)
    weight = 1 << (np.arange(cells.slices) * cells.cell_bits)
    for phase in range(cells.phases):
        digits = (x.astype(np.int64) >> phase * cells.input_bits) & ((1 << cells.input_bits) - 1)
        sums = (digits.astype(np.float64) @ matrix).astype(np.int64)
        seen = converted(cells, sums, x.shape[1]).reshape(len(x), -1, SIGNS, cells.slices)
        found += ((seen[:, :, 0] - seen[:, :, 1]) * weight).sum(-1) << phase * cells.input_bits
    return found


def converted(cells: Cells, sums: Array, rows: int) -> Array:
    """What the ADC makes of columns' sums, in steps of one cell and one input."""
    nearest, full = (sums + ONE // 2) >> 8, cells.full_scale(rows)
    if not cells.adc_bits:
        return nearest
    levels = (1 << cells.adc_bits) - 1
    if levels >= full:
        return np.minimum(nearest, full)
    code = np.minimum((sums * levels + full * (ONE // 2)) // (full * ONE), levels)
    return (code * full * 2 + levels) // (2 * levels)


def conductances(cells: Cells, w: Array, copy: int, block: int) -> Array:
    """Of the cells that hold a block of rows [k, f, sign, slice], in parts of ONE."""
    length, filters = w.shape
    own = w[block * cells.rows : (block + 1) * cells.rows].astype(np.int64)
    magnitudes = np.stack([np.maximum(own, 0), np.maximum(-own, 0)], -1)[..., None]
    top = (1 << cells.cell_bits) - 1
    ideal = (magnitudes >> (np.arange(cells.slices) * cells.cell_bits) & top) * ONE
    if not cells.noise and not cells.stuck:
        return np.asarray(ideal)
    down, across = cells.blocks(length, filters)
    columns = _columns(cells, filters)
    crossbars = cells.first + copy * down * across + block * across + np.arange(filters) // cells.filters
    random = drawn(cells.seed, crossbars[:, None, None], np.arange(len(own))[:, None, None, None], columns)
    noisy = np.maximum(ideal + ((byte_sum(random) * cells.noise) >> 16), 0)
    again = mixed(random)
    is_stuck = (again >> np.uint64(32)).astype(np.int64) < cells.stuck
    return np.where(is_stuck, np.where(again & np.uint64(1), top * ONE, 0), noisy)


def _columns(cells: Cells, filters: int) -> Array:
    """Of a crossbar: [f, sign, slice]."""
    first = np.arange(filters) % cells.filters * SIGNS * cells.slices
    return first[:, None, None] + np.arange(SIGNS)[:, None] * cells.slices + np.arange(cells.slices)


# ---- chance ---------------------------------------------------------------------------------------------------------


def drawn(seed: int, crossbar: Any, row: Any, column: Any) -> Array:
    """64 random bits for every cell, always the same for one seed."""
    place = (np.asarray(crossbar, np.uint64) << np.uint64(32)) | (np.asarray(row, np.uint64) << np.uint64(16))
    place = place | np.asarray(column, np.uint64)
    return mixed(place + np.uint64(seed * FACTORS[0] % 2**64))


def mixed(z: Array) -> Array:
    """splitmix64's."""
    z = z + np.uint64(FACTORS[0])
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FACTORS[1])
    z = (z ^ (z >> np.uint64(27))) * np.uint64(FACTORS[2])
    return np.asarray(z ^ (z >> np.uint64(31)))


def byte_sum(random: Array) -> Array:
    """Of eight random bytes, around 0: nearly normal."""
    parts = [(random >> np.uint64(8 * byte)) & np.uint64(255) for byte in range(8)]
    return np.sum(parts, axis=0).astype(np.int64) - MIDDLE


MIDDLE = 8 * 255 // 2
DEVIATION = (8 * (256**2 - 1) / 12) ** 0.5
"""Of that sum."""


def noise_factor(share: float, cell_bits: int) -> int:
    """Of a deviation that is given as a share of a cell's range."""
    return round(share * ((1 << cell_bits) - 1) * ONE * 2**16 / DEVIATION)

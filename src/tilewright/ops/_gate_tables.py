"""Sigmoid and tanh of 16-bit sums by tables, and the fixed-point formats of quantised recurrent cells.

Sums have 12 bits behind the point, so that they reach from -8 to 8; sigmoid and tanh have 15.
"""

from __future__ import annotations

import numpy as np

from tilewright.ir.requant import shift_right
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array

SUM_BITS, GATE_BITS = 12, 15
ENTRIES = 513
"""Of a table: 512 pieces from -8 to 8, between which values are interpolated."""
PIECE_BITS = 7
"""Bits of a sum that tell where in a piece it lies."""


def table_of(name: str) -> Array:
    """The table of a function, which is Sigmoid or Tanh."""
    x = np.linspace(-8, 8, ENTRIES)
    exact = 1 / (1 + np.exp(-x)) if name == "Sigmoid" else np.tanh(x)
    return np.clip(np.rint(exact * 2**GATE_BITS), -(2**15), 2**15 - 1).astype(np.int16)


def looked_up(table: Array, sums: Array) -> Array:
    """A function of int16 sums: between the entries on both sides."""
    entry, rest = (sums.astype(np.int64) >> PIECE_BITS) + ENTRIES // 2, sums.astype(np.int64) & (2**PIECE_BITS - 1)
    low, high = table[entry].astype(np.int64), table[entry + 1].astype(np.int64)
    return low + shift_right((high - low) * rest, PIECE_BITS, Rounding.HALF_UP)


def saturated(x: Array) -> Array:
    """Within 16 bits."""
    return np.clip(x, -(2**15), 2**15 - 1)

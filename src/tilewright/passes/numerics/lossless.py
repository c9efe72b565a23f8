"""Requantisations that are what hardware does, as they stand: short factors, with no total on a tie that would go down.

Nothing is approximated. The staircases of both forms are compared step by step, and every step must be the same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.ir.requant import NATIVE
from tilewright.passes.numerics.native import BYTES8, MOST_FACTOR, MOST_SHIFT, Given, Native, fits, least_totals, line_totals


def lossless(given: Given) -> Native | None:
    """The same requantisation in 32 bits, for all totals; None where there is none."""
    requant = given.requant
    if requant.rounding != "half_even" or requant.dtype not in BYTES8 or not given.mul.size or given.mul.min() <= 0:
        return None
    spare = _zeros_below(given)
    mul, shift = given.mul >> spare, requant.shift - spare
    if mul.max() > MOST_FACTOR or not 0 < shift <= MOST_SHIFT:
        return None
    add = np.zeros_like(mul) if given.add is None else given.add >> spare
    summand = add + ((1 << shift) >> 1) + (requant.zero_point << shift)
    if not np.all(fits(given, mul, summand, shift)):
        return None
    steps = least_totals(given)
    if not np.array_equal(line_totals(given, mul, summand, shift), steps):
        return None
    counted = int((steps[:, -1] - steps[:, 0]).sum())
    return Native(replace(requant, shift=shift, rounding=NATIVE), mul, add, 0, counted, 0.0)


def _zeros_below(given: Given) -> int:
    """How many bits at the end of all factors and summands are zero, of those that are shifted out."""
    arrays = [given.mul] if given.add is None else [given.mul, given.add]
    used = int(np.bitwise_or.reduce(np.abs(np.concatenate(arrays)))) | (1 << given.requant.shift)
    return (used & -used).bit_length() - 1

"""Requantisations that hardware does as they stand: no total has another result.

Factors must be short, m / 2**shift with one shift for all filters, but for what float32 and 30 bits cannot hold of
them. Nothing is approximated: the least total of every result must be the same in both forms.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.passes.numerics.native import (
    BYTES8,
    MOST_FACTOR,
    MOST_SHIFT,
    Given,
    Native,
    fits,
    least_totals,
    line_totals,
)

CLOSE = 2.0**-21
"""How far a factor may be from a short one, relative; with more than that it is not worth while to count."""


def lossless(given: Given) -> Native | None:
    """The same requantisation in 32 bits; None where there is none."""
    short = _short(given)
    if short is None or not np.all(same_results(given, *short)):
        return None
    mul, shift = short
    return Native(replace(given.requant, shift=shift, rounding=Rounding.NATIVE), mul, np.zeros_like(mul), 0, 0, 0.0)


def same_results(given: Given, mul: Array, shift: int) -> Array:
    """For each filter, whether short factors stay within 32 bits and give the same results for all totals."""
    summand = np.full(len(mul), ((1 << shift) >> 1) + (given.requant.zero_point << shift), np.int64)
    same = np.all(line_totals(given, mul, summand, shift) == least_totals(given), axis=1)
    return np.asarray(same & fits(given, mul, summand, shift))


def _short(given: Given) -> tuple[Array, int] | None:
    """Factors of at most 16 bits that are next to the given ones, and their shift."""
    requant, has_add = given.requant, given.add is not None and np.any(given.add)
    if requant.rounding != Rounding.HALF_EVEN or requant.dtype not in BYTES8 or has_add or not given.mul.size:
        return None
    spare = max(0, int(given.mul.max()).bit_length() - MOST_FACTOR.bit_length(), requant.shift - MOST_SHIFT)
    mul = (given.mul + (1 << spare >> 1)) >> spare
    far = np.abs((mul << spare) - given.mul) > CLOSE * given.mul
    if mul.min() <= 0 or mul.max() > MOST_FACTOR or requant.shift <= spare or np.any(far):
        return None
    return _without_zeros(mul, requant.shift - spare)


def _without_zeros(mul: Array, shift: int) -> tuple[Array, int]:
    """The same with the smallest shift: shorter factors, and more room in 32 bits."""
    used = int(np.bitwise_or.reduce(mul)) | 1 << shift - 1
    zeros = (used & -used).bit_length() - 1
    return mul >> zeros, shift - zeros

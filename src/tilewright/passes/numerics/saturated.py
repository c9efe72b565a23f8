"""A requantisation in 32 bits for totals that would leave them: they are clipped first, where results are saturated.

    clip(((total + bias) * mul + half) >> 24) + middle

`middle` lies between the lowest and the highest result, and `bias` puts the zero point where it belongs: products that
matter take all of 32 bits, however far totals reach. The factor then has several bits more than one that has to bear
the largest total. That takes an instruction which clips, so that it is for cores; N-EUREKA leaves its totals to them.
As an operator it is shifted by 33 bits and has no summand: cores that do not clip take the high word of a product.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.passes.numerics.native import (
    INT32,
    Given,
    Lines,
    Native,
    candidates,
    counts,
    has_steps,
    least_totals,
    lines,
    slopes,
)

SHIFT = 24
"""What is left of 32 bits is a byte."""
MORE = 9
"""Bits by which factors are larger in the operator."""
FACTORS = 2**6, 2**22 - 1
"""With less, the bias would be large; with more, a total is a good part of a result."""


def saturated(given: Given) -> Native | None:
    """The closest one; None where there is none that is never more than one apart."""
    slope = slopes(given)
    if not has_steps(given.requant) or not slope.size or not np.all((slope >= 0) & (slope < 1)):
        return None
    requant = replace(given.requant, shift=SHIFT + MORE, rounding=Rounding.HALF_UP, zero_point=_middle(given))
    steps, best = least_totals(given), Lines.none(len(slope))
    for factor, summand in candidates(given, steps, slope, SHIFT, FACTORS[1]):
        mul = np.maximum(factor, FACTORS[0])
        bias = _bias(given, mul, summand)
        found = lines(given, steps, mul, bias * mul + _constant(given), SHIFT, _fits(given, bias))
        best = best.or_better(found)
    if not np.all(best.taken):
        return None
    bias = (best.summand - _constant(given)) // best.mul
    return Native(requant, best.mul << MORE, None, *counts(best, steps, given.requant), bias=bias)


def _middle(given: Given) -> int:
    low, high = limits(given.requant.dtype)
    return (low + high + 1) // 2


def _constant(given: Given) -> int:
    """What all products get: one half, and the middle."""
    return (1 << (SHIFT - 1)) + (_middle(given) << SHIFT)


def _bias(given: Given, mul: Array, summand: Array) -> Array:
    """The nearest to what is to be added to products."""
    return np.asarray((summand - _constant(given) + (mul >> 1)) // mul)


def _fits(given: Given, bias: Array) -> Array:
    """Whether totals with their bias are words."""
    return np.asarray((given.low + bias >= INT32[0]) & (given.high + bias <= INT32[1]))

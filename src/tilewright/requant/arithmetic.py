"""The least arithmetic that gives the results of a requantisation, whatever a layer rounds by.

An instruction set has forms for some of these, each within its own bounds; what it has none for goes the long way.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import UP, Rounding
from tilewright.ir.types import Array


class Arithmetic(Enum):
    ONCE = "one product, one shift to the right, ties up"
    TWICE = "the product rounded to 32 bits, then a shift to the right, ties away from zero"
    TWICE_UP = "the same, ties up both times"
    FLOAT = "a product of floats"
    SUMMED = "one product and its summand, one shift to the right, ties up"
    EVEN = "one product, one shift to the right, ties to even"
    WIDE = "all of the product, its summand and its own ties"


def least_arithmetic(requant: Requant, mul: Array, add: Array | None, largest: Array) -> Arithmetic:
    """Of totals up to `largest` in magnitude, for each filter."""
    if requant.rounding == Rounding.FLOAT:
        return Arithmetic.FLOAT
    if requant.has_exponents and add is None:
        return Arithmetic.WIDE
    if requant.rounding == Rounding.SINGLE:
        return Arithmetic.ONCE
    if requant.has_exponents:
        # Where negative results are cut off, it does not matter how their ties are rounded.
        is_up = requant.rounding == Rounding.DOUBLE_UP or requant.low >= requant.zero_point
        return Arithmetic.TWICE_UP if is_up else Arithmetic.TWICE
    is_up = requant.rounding in UP or requant.shift == 0
    if add is not None and add.any():
        return Arithmetic.SUMMED if is_up else Arithmetic.WIDE
    if is_up or never_ties(mul, largest, requant.shift):
        return Arithmetic.ONCE
    return Arithmetic.EVEN if requant.rounding == Rounding.HALF_EVEN else Arithmetic.WIDE


def right_shifts(requant: Requant, mul: Array, add: Array | None) -> Array:
    """By how many bits products of each filter are shifted to the right in all."""
    if requant.has_exponents and add is not None:
        return 31 - add.astype(np.int64)
    return np.full(len(mul), requant.shift, np.int64)


def never_ties(mul: Array, largest: Array, shift: int) -> bool:
    """Whether no product of a factor with an integer up to `largest` is halfway between two multiples of 2**shift.
    A tie needs an integer with as many zeros at its end as those of the factor leave, but for one."""
    zeros = np.array([(int(value) & -int(value)).bit_length() - 1 for value in mul if value], np.int64)
    return bool((np.ldexp(1.0, shift - 1 - zeros) > largest[mul != 0]).all())

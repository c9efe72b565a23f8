"""The least arithmetic of a requantisation gives its results, for every total."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.requant.arithmetic import Arithmetic, least_arithmetic, right_shifts

pytestmark = pytest.mark.fast
TOTALS = np.arange(-(1 << 12), 1 << 12)
LARGEST = np.full(3, 1 << 12)
MUL = np.array([(1 << 30) + 1, 3 << 29, (1 << 31) - 1])


def once(requant: Requant, mul: Array, shifts: Array) -> Array:
    """As its name says it."""
    value = ((TOTALS[:, None] * mul + (1 << (shifts - 1))) >> shifts) + requant.zero_point
    return np.clip(value, requant.low, requant.high)


@pytest.mark.parametrize(
    ("requant", "mul", "add", "least"),
    [
        (full_range(36, "int8", 3, Rounding.HALF_UP), MUL, None, Arithmetic.ONCE),
        (full_range(36, "int8", 3, Rounding.HALF_EVEN), MUL | 1, None, Arithmetic.ONCE),
        (full_range(36, "int8", 3, Rounding.HALF_EVEN), MUL & ~((1 << 28) - 1), None, Arithmetic.EVEN),
        (full_range(36, "int8", 3, Rounding.HALF_AWAY), MUL & ~((1 << 28) - 1), None, Arithmetic.WIDE),
        (full_range(36, "int8", 3, Rounding.HALF_EVEN), MUL, np.array([0, 5, 0]), Arithmetic.WIDE),
        (full_range(36, "int8", 3, Rounding.HALF_UP), MUL, np.array([0, 5, 0]), Arithmetic.SUMMED),
        (full_range(0, "int8", 3, Rounding.HALF_EVEN), MUL, None, Arithmetic.ONCE),
        (full_range(0, "int8", 3, Rounding.SINGLE), MUL, np.array([-5, -6, -4]), Arithmetic.ONCE),
        (full_range(0, "int8", 3, Rounding.DOUBLE), MUL, np.array([-5, -6, -4]), Arithmetic.TWICE),
        (full_range(0, "int8", -128, Rounding.DOUBLE), MUL, np.array([-5, -6, -4]), Arithmetic.TWICE_UP),
        (full_range(0, "int8", 3, Rounding.DOUBLE_UP), MUL, np.array([-5, -6, -4]), Arithmetic.TWICE_UP),
        (full_range(0, "int8", 3, Rounding.FLOAT), MUL, None, Arithmetic.FLOAT),
    ],
)
def test_what_a_requantisation_needs(requant: Requant, mul: Array, add: Array | None, least: Arithmetic) -> None:
    assert least_arithmetic(requant, mul, add, LARGEST) == least
    if least == Arithmetic.ONCE:
        wanted = requant(TOTALS[:, None], mul, add)
        np.testing.assert_array_equal(once(requant, mul, right_shifts(requant, mul, add)), wanted)
    if least == Arithmetic.TWICE_UP:
        as_up = Requant(0, requant.dtype, requant.low, requant.high, requant.zero_point, Rounding.DOUBLE_UP)
        np.testing.assert_array_equal(as_up(TOTALS[:, None], mul, add), requant(TOTALS[:, None], mul, add))


def test_ties_are_found_where_they_can_be() -> None:
    """The largest total decides: a tie of an odd factor needs 35 zeros, one of 2**28 seven."""
    even = full_range(36, "int8", 0, Rounding.HALF_EVEN)
    mul = np.array([1 << 28])
    assert least_arithmetic(even, mul, None, np.array([127])) == Arithmetic.ONCE
    assert least_arithmetic(even, mul, None, np.array([128])) == Arithmetic.EVEN

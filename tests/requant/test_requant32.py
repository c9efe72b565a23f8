"""Requantisations in 32 bits are the requantisations they stand for, or are not offered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.ir.requant import Requant, full_range
from tilewright.requant.requant32 import HALF, Requant32, byte_factor, requant32

pytestmark = pytest.mark.fast

REQUANTS = st.builds(
    lambda shift, low, width, zero, ties: Requant(shift, "int32", low, low + width, zero, ties),
    st.integers(0, 34), st.integers(-300, 300), st.integers(0, 600), st.integers(-200, 200),
    st.sampled_from(["half_up", "half_even"]),
)  # fmt: skip


def computed(found: Requant32, x: int) -> int:
    """As narrowing.h does, with nothing wider than 32 bits on the way."""
    total = x * found.mul + found.add
    assert -(2**31) <= total < 2**31
    if not found.even:
        value = total >> found.shift
    else:
        half = (1 << found.shift) >> 1
        odd = (total >> found.shift) & 1 if found.shift else 0
        total += half - (found.shift > 0) + odd
        assert -(2**31) <= total < 2**31
        value = (total >> found.shift) + found.zero
    return min(max(value, 0), found.top) + found.low


@given(
    REQUANTS, st.integers(-(2**24), 2**24), st.integers(-(2**30), 2**30), st.integers(-300, 300), st.integers(0, 300)
)
def test_same_results(requant: Requant, mul: int, add: int, lowest: int, width: int) -> None:
    before = lowest // 2
    found = requant32(requant, mul, add, lowest, lowest + width, before)
    if found is None:
        return
    numbers = np.arange(lowest, lowest + width + 1)
    wanted = requant(numbers, np.asarray(mul), np.asarray(add))
    assert [computed(found, int(x) - before) for x in numbers] == wanted.tolist()


def test_usual_ones_are_offered() -> None:
    assert requant32(Requant(16, "int8", -128, 127), 65536, 0, -128, 127) is not None
    assert requant32(Requant(21, "int8", -128, 127, -128, "half_even"), 1, 229144268, -(2**28), 2**28) is not None


def test_what_needs_more_bits_is_not() -> None:
    assert requant32(Requant(38, "int8", -128, 127), 2**30, 0, -(2**20), 2**20) is None


@pytest.mark.parametrize("mul", [1, 37, 900, -900, 8191])
@pytest.mark.parametrize("shift", [12, 16])
def test_products_of_16_bits_are_the_requantisation(mul: int, shift: int) -> None:
    found = requant32(full_range(shift, "int8"), mul, 0, -16256, 16384)
    assert found is not None
    factor = byte_factor(found, "int8", -16256, 16384)
    if mul << (16 - shift) >= HALF:
        assert factor is None
        return
    assert factor == mul << (16 - shift)
    for x in range(-16256, 16385, 7):
        assert computed(found, x) == min(max((x * factor + HALF) >> 16, -128), 127)


@pytest.mark.parametrize(
    ("requant", "add", "highest"),
    [
        (full_range(16, "int8"), 5000, 100), (full_range(17, "int8"), 0, 100), (full_range(16, "int8"), 0, HALF),
        (Requant(16, "int8", -128, 127, 0, "half_even"), 0, 100), (Requant(16, "int8", -5, 127, 0), 0, 100),
    ],
    ids=["summand", "shift", "range", "ties", "clip"],
)  # fmt: skip
def test_products_of_16_bits_are_not_offered_where_they_differ(requant: Requant, add: int, highest: int) -> None:
    found = requant32(requant, 20_001, add, -100, highest)
    assert found is not None
    assert byte_factor(found, "int8", -100, highest) is None

"""Requantisation by one product: the same results for every total, in every rounding that has the form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tilewright.ir.requant import Requant, full_range
from tilewright.requant.one_product import one_product
from tilewright.targets.cortex_m.one_product_pairs import from_words, one_product_pairs
from tilewright.targets.cortex_m.ways import Filters

pytestmark = pytest.mark.fast

RANGE = 9 * 127 * 255
"""Of totals of a window of 3 x 3."""


def tflite(random: Generator, count: int, exponents: tuple[int, int]) -> Filters:
    start = random.integers(-RANGE // 2, RANGE // 2, count)
    mul = random.integers(1 << 30, 1 << 31, count)
    return Filters(start, mul, random.integers(*exponents, count), start - RANGE // 2, start + RANGE // 2)


def plain(random: Generator, count: int) -> Filters:
    start = random.integers(-RANGE // 2, RANGE // 2, count)
    add = random.integers(-5000, 5000, count)
    return Filters(start, random.integers(50, 400, count), add, start - RANGE // 2, start + RANGE // 2)


def wanted(requant: Requant, filters: Filters, totals: np.ndarray) -> np.ndarray:
    assert filters.add is not None
    return requant(totals, filters.mul[:, None], filters.add[:, None]).astype(np.int64)


def totals_of(filters: Filters) -> np.ndarray:
    """All of them."""
    return filters.least[:, None] + np.arange(int((filters.most - filters.least).max()) + 1)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(
    ("requant", "filters"),
    [
        (full_range(0, "int8", -128, "double"), tflite(default_rng(1), 6, (-9, -3))),
        (full_range(0, "uint8", 0, "double"), tflite(default_rng(2), 6, (-9, -3))),
        (full_range(0, "int8", 7, "single"), tflite(default_rng(3), 6, (-8, -3))),
        (full_range(0, "int8", -3, "double_up"), tflite(default_rng(4), 6, (-8, -3))),
        (full_range(16, "int8", -7, "half_up"), plain(default_rng(5), 6)),
        (full_range(0, "int8", -128, "double"), tflite(default_rng(6), 6, (-22, -12))),
    ],
)
@pytest.mark.parametrize("shift", [10, None])
def test_every_total_has_its_result(requant: Requant, filters: Filters, shift: int | None) -> None:
    found = one_product(filters.spec(requant), shift)
    assert found is not None
    totals = totals_of(filters)
    assert np.array_equal(np.clip(found(totals), requant.low, requant.high), wanted(requant, filters, totals))


def test_two_roundings_away_from_zero_have_no_such_form() -> None:
    """Below zero a tie goes down: no line has that bend."""
    assert one_product(tflite(default_rng(7), 6, (-9, -3)).spec(full_range(0, "int8", 0, "double")), 10) is None


def test_results_that_are_clamped_to_less_have_no_such_form() -> None:
    requant = Requant(0, "int8", -128, 100, -128, "double")
    assert one_product(tflite(default_rng(8), 2, (-9, -3)).spec(requant), 10) is None


def test_pairs() -> None:
    requant, filters = full_range(0, "int8", -128, "double"), tflite(default_rng(9), 5, (-9, -5))
    found = one_product_pairs(requant, filters, 1)
    assert found is not None
    totals = filters.start[:, None] + np.arange(-RANGE // 2, RANGE // 2, 97)
    again = from_words(found.words(filters.start, 1))
    assert np.array_equal(found.second.factor, again.second.factor)
    starts = np.append(filters.start, filters.start[-1])
    offset = (again.second.offset - found.second.offset)[:, None]
    assert not offset.any() or np.array_equal(offset[:, 0] & 255, 0 * starts[::2])
    assert np.array_equal(np.clip(found(totals, 1), -128, 127), wanted(requant, filters, totals))

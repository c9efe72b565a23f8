"""Lines on either side of a requantisation: compared with it at every total, and refused where that proves nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from tests.support.examples import examples
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.tflite_rounding import factors
from tilewright.ir.types import Array, limits
from tilewright.requant.brackets import Brackets, brackets, one_line
from tilewright.requant.spec import RequantSpec

pytestmark = pytest.mark.fast
ROUNDINGS = ("double", "double_up", "single", "float")


@st.composite
def wanted(draw: st.DrawFn) -> RequantSpec:
    """A few filters with totals that are few enough to look at each."""
    rounding, dtype = draw(st.sampled_from(ROUNDINGS)), draw(st.sampled_from(["int8", "uint8"]))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    filters, zero = draw(st.integers(1, 4)), draw(st.integers(*limits(dtype)))
    mul, add = factors(2.0 ** random.uniform(-14, 1, filters), rounding)
    low = random.integers(-20_000, 10_000, filters)
    high = low + random.integers(0, 20_000, filters)
    requant = full_range(0, dtype, zero, rounding)
    return RequantSpec(requant, mul.astype(np.int64), None if add is None else add.astype(np.int64), low, high)


def every_total(given: RequantSpec, filter_: int) -> tuple[Array, Array]:
    totals = np.arange(given.low[filter_], given.high[filter_] + 1)
    add = None if given.add is None else given.add[filter_]
    return totals, given.requant(totals, given.mul[filter_], add).astype(np.int64)


def line(requant: Requant, totals: Array, mul: int, summand: int, shift: int) -> Array:
    products = totals * mul + summand
    assert np.array_equal(products, products.astype(np.int32))
    return np.clip(products >> shift, *limits(requant.dtype))


@pytest.mark.in_turns(5)
@drawn(wanted())
@examples(200)
def test_no_result_is_outside(given: RequantSpec) -> None:
    found = brackets(given, np.zeros(len(given.mul), np.int64))
    assert found is not None
    for i in range(len(given.mul)):
        totals, results = every_total(given, i)
        lower, upper = (line(given.requant, totals, *lines_of(found, side, i)) for side in (0, 1))
        assert np.all(lower <= results)
        assert np.all(results <= upper)
        assert [np.any(lower != results), np.any(upper != results)] == [bool(side[i]) for side in found.differing]


def lines_of(found: Brackets, side: int, i: int) -> tuple[int, int, int]:
    return int(found.mul[side, i]), int(found.summand[side, i]), int(found.shift[i])


@pytest.mark.in_turns(3)
@drawn(wanted())
@examples(200)
def test_one_line_is_the_requantisation(given: RequantSpec) -> None:
    found = one_line(given, np.zeros(len(given.mul), np.int64))
    if found is None:
        return
    for i in range(len(given.mul)):
        totals, results = every_total(given, i)
        assert np.array_equal(line(given.requant, totals, int(found[0][i]), int(found[1][i]), found[2]), results)


def simple(scale: float, low: int, high: int, rounding: str = "double", zero: int = 0) -> RequantSpec:
    mul, add = factors(np.array([scale]), rounding)
    ends = np.array([low]), np.array([high])
    return RequantSpec(
        full_range(0, "int8", zero, rounding),
        mul.astype(np.int64),
        None if add is None else add.astype(np.int64),
        *ends,
    )


def test_a_short_factor_needs_no_other() -> None:
    found = one_line(simple(3 / 64, -2000, 2000, "single"), np.zeros(1, np.int64))
    assert found is not None


def test_a_tie_away_from_zero_below_it_has_no_line() -> None:
    """1 / 4: 2 is rounded to 1, and -2 to -1: there are three totals between, and four between all others."""
    assert one_line(simple(1 / 4, 0, 100), np.zeros(1, np.int64)) is not None
    assert one_line(simple(1 / 4, -100, 100), np.zeros(1, np.int64)) is None


def test_totals_that_wrap_around_are_refused() -> None:
    """With a scale of 4, totals are shifted to the left in 32 bits first."""
    assert simple(4.0, -1000, 1000).is_monotone
    assert not simple(4.0, -(1 << 30), 1 << 30).is_monotone
    assert brackets(simple(4.0, -(1 << 30), 1 << 30), np.zeros(1, np.int64)) is None


def test_narrower_clips_and_wider_results_are_refused() -> None:
    given = simple(1 / 100, -2000, 2000)
    for requant in (Requant(0, "int8", 0, 127, 0, "double"), Requant(0, "int16", -32768, 32767, 0, "double")):
        assert (
            brackets(RequantSpec(requant, given.mul, given.add, given.low, given.high), np.zeros(1, np.int64)) is None
        )


def test_an_offset_that_leaves_32_bits_is_seen() -> None:
    """N-EUREKA adds the bias times the factor."""
    given = simple(0.7, -100, 100)
    near, far = (brackets(given, np.array([offset])) for offset in (0, 1 << 22))
    assert near is not None
    assert far is not None
    assert far.mul.max() << 22 < 1 << 31 < near.mul.max() << 22

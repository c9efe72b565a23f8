"""Requantisations that are native as they stand: proven over all totals, and refused for a single one that differs."""

from __future__ import annotations

import numpy as np

from tilewright.ir.requant import full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.requant.approximate import lossless
from tilewright.requant.spec import RequantSpec


def given(mul: Array, shift: int, reach: int, zero: int = -128) -> RequantSpec:
    ends = np.full(len(mul), reach, np.int64)
    return RequantSpec(full_range(shift, "int8", zero, "half_even"), mul.astype(np.int64), None, -ends, ends)


def test_short_factors_are_the_same_for_every_total() -> None:
    wanted = given(np.array([1023, 771, 2047]) << 14, 34, 40_000)
    found = lossless(wanted)
    assert found is not None
    assert found.requant.rounding == Rounding.NATIVE
    assert found.requant.shift == 20
    totals = np.broadcast_to(np.arange(-40_000, 40_001), (3, 80_001))
    assert np.array_equal(found.requant(totals, found.mul[:, None], found.add[:, None]), wanted.results(totals))


def test_a_tie_that_goes_down_is_refused() -> None:
    """5 / 2**4: the total 8 gives 2.5, which ONNX rounds to 2 and hardware to 3."""
    assert lossless(given(np.array([5 << 20]), 24, 7)) is not None
    assert lossless(given(np.array([5 << 20]), 24, 8)) is None


def test_long_factors_are_refused() -> None:
    assert lossless(given(np.array([715_827_883]), 36, 40_000)) is None


def test_what_leaves_32_bits_is_refused() -> None:
    assert lossless(given(np.array([1023 << 14]), 34, 4_000_000)) is None

"""Fixed-point requantisation: the numbers it is made of, and its two ways to round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.ir.requant import Requant, fixed_point, shift_right

pytestmark = pytest.mark.fast


@given(st.lists(st.floats(2.0**-20, 2.0**7), min_size=1, max_size=4), st.integers(8, 30))
def test_fixed_point_is_close_and_leaves_its_sign_and_headroom(scales: list[float], bits: int) -> None:
    mul, shift = fixed_point(np.array(scales), bits)
    assert mul.dtype == np.int32
    assert np.all(mul <= 2**bits)
    if 0 < shift < 62:
        assert mul.max() >= 2 ** (bits - 1)
        assert np.all(np.abs(mul / 2.0**shift - scales) <= 2.0**-shift / 2)


def test_ties() -> None:
    halves = np.array([-5, -3, -1, 1, 3, 5])
    assert shift_right(halves, 1, "half_up").tolist() == [-2, -1, 0, 1, 2, 3]
    assert shift_right(halves, 1, "half_even").tolist() == [-2, -2, 0, 0, 2, 2]
    assert shift_right(halves, 0, "half_up").tolist() == halves.tolist()


def test_the_zero_point_comes_before_the_clamp() -> None:
    clamp = Requant(0, "int8", -10, 10, zero_point=5)
    assert clamp(np.array([-99, 3, 99]), np.array(1), np.array(2)).tolist() == [-10, 10, 10]

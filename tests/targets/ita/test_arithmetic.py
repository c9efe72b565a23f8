"""ITA's arithmetic: edges of its scale, how near its GELU is, and which operators have its softmaxes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.targets.ita.arithmetic import FIRST_SOFTMAX, POOL_SOFTMAX, SOFTMAX, Scale, gelu_of
from tilewright.targets.ita.layout import as_matrix, as_tiles, packed_bias

pytestmark = pytest.mark.fast
ROWS = np.random.default_rng(5).integers(-128, 128, (300, 192)).astype(np.int8)


def test_halves_are_rounded_up_and_long_shifts_leave_the_summand() -> None:
    values = np.array([-3, -1, 1, 3, 2**25 - 1, -(2**25)])
    assert Scale(1, 1, 0)(values).tolist() == [-1, 0, 1, 2, 127, -128]
    for shift in (41, 63, 255):
        assert Scale(255, shift, -7)(values).tolist() == [-7] * 6


def test_gelu_comes_out_with_the_opposite_sign() -> None:
    step = 4 / 128
    gelu = gelu_of(step)
    assert (gelu.b, gelu.c, gelu.scale) == (-80, -7091, Scale(74, 20, 0))
    x = np.arange(-128, 128)
    exact = np.array([v * 0.5 * (1 + math.erf(v / 2**0.5)) for v in x * step])
    assert np.abs(gelu(x.astype(np.int8)) * -step - exact).max() < 0.04


def test_the_first_softmax_is_that_of_partial_rows_with_512_levels() -> None:
    assert np.array_equal(FIRST_SOFTMAX(ROWS), ITAPartialMax(512, 16).shares(ROWS.astype(np.int32)))


def test_where_no_later_group_raises_the_largest_it_is_that_of_whole_rows() -> None:
    rows = ROWS.copy()
    rows[:, 0] = 127
    assert np.array_equal(FIRST_SOFTMAX(rows), ITAMax(256).shares(rows.astype(np.int32)))
    assert not np.array_equal(FIRST_SOFTMAX(ROWS), ITAMax(256).shares(ROWS.astype(np.int32)))
    assert np.array_equal(POOL_SOFTMAX(rows), ITAPartialMax(256, 16).shares(rows.astype(np.int32)))


def test_the_softmax_halves_for_each_unit() -> None:
    """No operator with a step of 32 gives this."""
    row = np.zeros((1, 64), np.int8)
    row[0, :3] = 2, 1, 0
    shares = SOFTMAX(row)[0]
    assert shares[:3].tolist() == [65280 // (256 + 128 + 62 * 64), 65280 // (256 + 128 + 62 * 64) // 2, 3]


def test_layouts() -> None:
    matrix = np.arange(100 * 70).reshape(100, 70).astype(np.int8)
    data = as_tiles(matrix).reshape(-1)
    assert data.shape == (4 * 4096,)
    assert np.array_equal(data[:64], matrix[0, :64])
    assert np.array_equal(data[4096:4102], matrix[0, 64:])
    assert np.array_equal(as_matrix(as_tiles(matrix))[:100, :70], matrix)
    assert not as_matrix(as_tiles(matrix))[100:].any()
    assert packed_bias(np.array([1, -2, 2**23 - 1]))[:9].tolist() == [1, 0, 0, 254, 255, 255, 255, 255, 127]
    assert len(packed_bias(np.zeros(65))) == 2 * 192

"""Blocks of few bits: what is read from their bytes is what they were rounded to, and no plain rounding is better."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.types import Array
from tilewright.language.weights.compensation import compensated
from tilewright.language.weights.formats import FORMATS, Format

pytestmark = pytest.mark.fast
ERRORS = {"q4_0": 0.083, "q4_1": 0.072, "q5_0": 0.042, "q5_1": 0.036, "q8_0": 0.0052, "q4_k": 0.073, "q5_k": 0.037,
          "q6_k": 0.0175}  # fmt: skip
"""Relative to normally distributed weights: below those of llama.cpp's quantisers at the same bits."""


def normal(rows: int, columns: int) -> Array:
    return np.random.default_rng(1).standard_normal((rows, columns), np.float32)


def back(form: Format, raw: Array, like: Array) -> Array:
    return form.block.values(raw).reshape(like.shape)


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_hold_what_the_grid_says(name: str) -> None:
    form = FORMATS[name]
    x = normal(40, form.block.elements)
    fitted = form.fit(x, np.ones((1, x.shape[1]), np.float32))
    levels = fitted.grid.levels(x, form.low, form.high)
    raw = form.pack(fitted, levels)
    assert raw.shape == (40, form.block.bytes)
    np.testing.assert_allclose(back(form, raw, x), fitted.grid.values(levels), rtol=1e-6, atol=1e-7)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("name", FORMATS)
def test_errors_of_normal_weights(name: str) -> None:
    form = FORMATS[name]
    x = normal(8192 // form.block.elements * 8, form.block.elements)
    found = back(form, form.rounded(x, np.ones((1, x.shape[1]), np.float32)), x)
    assert np.sqrt(np.mean((found - x) ** 2)) < ERRORS[name]


@pytest.mark.parametrize("name", FORMATS)
def test_extremes(name: str) -> None:
    """Zeros, one value throughout, one alone, values that fp16 has not: finite, and as near as the format is."""
    form = FORMATS[name]
    size = form.block.elements
    x = np.zeros((6, size), np.float32)
    x[1], x[2], x[3, 5], x[4], x[5] = 3.0, -3.0, -7.0, normal(1, size)[0] * 1e-9, normal(1, size)[0] * 1e6
    found = back(form, form.rounded(x, np.ones((1, size), np.float32)), x)
    assert np.all(np.isfinite(found))
    assert not found[0].any()
    np.testing.assert_allclose(found[1:4], x[1:4], atol=0.04 * 7)


@pytest.mark.parametrize("name", ["q4_0", "q4_1", "q4_k"])
def test_what_counts_more_is_nearer(name: str) -> None:
    form = FORMATS[name]
    x = normal(64, form.block.elements)
    counts = np.where(np.arange(x.shape[1]) % 4 == 0, 100.0, 1.0).astype(np.float32)[None]
    plain, weighed = (back(form, form.rounded(x, one), x) for one in (np.ones_like(counts), counts))
    errors = [(counts * (found - x) ** 2).sum() for found in (plain, weighed)]
    assert errors[1] < 0.9 * errors[0]


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("name", ["q4_0", "q5_1", "q4_k", "q6_k"])
def test_columns_make_up_for_each_other(name: str) -> None:
    """With inputs that go together, products are nearer than with weights at their nearest levels."""
    form, columns = FORMATS[name], 512
    mixing = np.random.default_rng(2).standard_normal((24, columns)).astype(np.float32)
    x = normal(400, 24) @ mixing + 0.3 * normal(400, columns)
    rows = normal(16, columns)
    counts = np.broadcast_to(np.ones(columns, np.float32), rows.shape).reshape(-1, form.block.elements)
    nearest = back(form, form.rounded(rows.reshape(-1, form.block.elements), counts), rows)
    found = back(form, compensated(rows, x.T @ x, form), rows)
    errors = [np.sum((x @ (one - rows).T) ** 2) for one in (nearest, found)]
    assert errors[1] < 0.5 * errors[0]

"""Rounding of weights that is learned from the moments of what they multiply."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.types import Array
from tilewright.quantiser.rounding.rounding import errors_of, improved, learned, learned_scales
from tilewright.quantiser.weights import nearest, row_scales


def problem(seed: int, bits: int) -> tuple[Array, Array, Array]:
    """Weights, scales for them, and the moments of correlated inputs."""
    random = np.random.default_rng(seed)
    inputs = random.standard_normal((400, 12)) @ random.standard_normal((12, 24)) + 0.3 * random.standard_normal(
        (400, 24)
    )
    rows = random.standard_normal((16, 24))
    return rows, row_scales(rows, bits, None, None, 1.0).astype(np.float64), inputs.T @ inputs


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("seed", range(3))
def test_each_step_makes_the_error_smaller(bits: int, seed: int) -> None:
    rows, scales, moments = problem(seed, bits)
    plain = errors_of(rows, nearest(rows, scales, bits), scales, moments)
    first = learned(rows, scales, bits, moments)
    moved = improved(rows, scales, bits, moments, first)
    levels, found = learned_scales(rows, scales, bits, moments)
    errors = [errors_of(rows, one, scales, moments) for one in (first, moved)]
    assert np.sum(errors[0]) < np.sum(plain)
    assert np.all(errors[1] <= errors[0] * (1 + 1e-9))
    assert np.all(errors_of(rows, levels, found, moments) <= errors[1] * (1 + 1e-5))
    assert np.abs(levels).max() <= 2 ** (bits - 1) - 1


def test_weights_that_multiply_nothing_stay_finite() -> None:
    rows = np.vstack([np.zeros(6), np.ones(6)])
    levels, scales = learned_scales(rows, np.array([0.1, 0.2]), 4, np.zeros((6, 6)))
    assert np.all(np.isfinite(scales))
    assert np.all(scales > 0)
    assert np.all(np.abs(levels) <= 7)

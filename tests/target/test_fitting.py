"""Coefficients are found again from exact measurements, and never negative."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.target.cost_model import predict
from tilewright.target.fitting import fit

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("seed", range(20))
def test_exact_measurements(seed: int) -> None:
    random = np.random.default_rng(seed)
    coefficients = random.uniform(0, 50, 4) * random.integers(0, 2, 4) + np.array([1.0, 0, 0, 0])
    rows = np.column_stack([np.ones(12), random.uniform(1, 5000, (12, 3))])
    np.testing.assert_allclose(fit(rows.tolist(), (rows @ coefficients).tolist()), coefficients, atol=1e-5)


def test_nothing_is_given_back() -> None:
    found = fit([(1.0, float(n)) for n in range(1, 9)], [100.0 - 9 * n for n in range(1, 9)])
    assert min(found) >= 0.0
    assert found[1] == 0.0


def test_same_features_twice() -> None:
    found = fit([(1.0, float(n), float(n)) for n in range(1, 9)], [20.0 + 3 * n for n in range(1, 9)])
    assert predict(found, (1.0, 100.0, 100.0)) == pytest.approx(320)

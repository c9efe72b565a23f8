"""Requantisations with totals that are clipped first: every total is counted, and results never differ by two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.requant.test_native import given
from tilewright.requant.approximate import native, saturated
from tilewright.targets.hwpe.finish import TOP, chosen_finish


@pytest.mark.in_turns(6)
@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(40))
def test_every_total_is_counted(seed: int) -> None:
    want = given(seed)
    found, other = saturated(want), native(want)
    assert found is not None
    assert other is not None
    assert found.bias is not None
    differing = 0
    for f, (low, high) in enumerate(zip(want.low, want.high, strict=True)):
        totals = np.arange(low, high + 1)
        exact = want.results(np.broadcast_to(totals, (len(want.low), len(totals))))[f]
        ours = found.requant(totals + found.bias[f], found.mul[f]).astype(np.int64)
        assert np.abs(ours - exact).max() <= 1
        differing += int(np.count_nonzero(ours != exact))
    assert found.differing == differing
    assert found.counted == other.counted


@pytest.mark.parametrize("seed", range(20))
def test_cores_take_bytes_from_the_top_of_products(seed: int) -> None:
    """To the bit, also of totals far beyond those that are saturated."""
    want = given(seed)
    found = saturated(want)
    assert found is not None
    finish, bounds = chosen_finish(found.requant, found.mul, None, 2**30)
    if found.requant.high - found.requant.low < 255:
        assert finish.mode != TOP
        return
    assert finish.mode == TOP
    assert bounds is not None
    for f in range(len(bounds)):
        near = np.arange(bounds[f] - 3, bounds[f] + 4)
        totals = np.concatenate([near, -near, np.random.default_rng(seed).integers(-(2**30), 2**30, 5000) >> 8])
        totals = np.append(totals, [-(2**30), 2**30])
        expected = found.requant(totals, found.mul[f])
        np.testing.assert_array_equal(finish(totals, found.mul[f], bounds[f]), expected)


def test_results_of_one_value_stay_exact() -> None:
    """As of a Clip whose limits are equal."""
    want = given(3)
    assert saturated(replace(want, requant=replace(want.requant, low=5, high=5))) is None

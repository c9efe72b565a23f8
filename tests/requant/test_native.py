"""Native requantisations: what is counted is what differs, total by total, and nothing leaves 32 bits."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_rounding import factors
from tilewright.ir.types import limits
from tilewright.requant.approximate import native
from tilewright.requant.spec import RequantSpec


def given(seed: int, filters: int = 5) -> RequantSpec:
    """Totals that reach from well inside the results to several times what saturates them."""
    random = np.random.default_rng(seed)
    dtype = str(random.choice(["int8", "uint8"]))
    low, high = limits(dtype)
    zero = int(random.integers(low, high + 1))
    slope = 2.0 ** random.uniform(-9, -4) * random.uniform(0.3, 1.0, filters)
    reach = random.uniform(0.2, 6.0, (2, filters)) * 256 / slope.max()
    if random.random() < 0.3:
        low = zero
    if random.random() < 0.5:
        mul, add = factors(slope, "double")
        requant = Requant(0, dtype, low, high, zero, "double")
    else:
        shift = 36
        mul, add = np.rint(slope * 2.0**shift).astype(np.int64), random.integers(-(2**20), 2**20, filters)
        requant = Requant(shift, dtype, low, high, zero, "half_even")
    wide = None if add is None else add.astype(np.int64)
    return RequantSpec(requant, mul.astype(np.int64), wide, -reach[0].astype(np.int64), reach[1].astype(np.int64))


@pytest.mark.in_turns(6)
@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(40))
def test_every_total_is_counted(seed: int) -> None:
    want = given(seed)
    found = native(want)
    assert found is not None
    differing = counted = 0
    for f, (low, high) in enumerate(zip(want.low, want.high, strict=True)):
        totals = np.arange(low, high + 1)
        exact = want.results(np.broadcast_to(totals, (len(want.low), len(totals))))[f]
        ours = found.requant(totals, found.mul[f], found.add[f]).astype(np.int64)
        assert np.abs(ours - exact).max() <= 1
        differing += int(np.count_nonzero(ours != exact))
        counted += int(np.count_nonzero((exact > want.requant.low) & (exact < want.requant.high)))
    assert found.differing == differing
    # The count begins with the first total that is not the lowest result and ends before the first highest one.
    assert found.counted == counted
    assert found.share == differing / max(counted, 1)


@pytest.mark.parametrize("seed", range(40))
def test_nothing_leaves_32_bits(seed: int) -> None:
    want = given(seed)
    found = native(want)
    assert found is not None
    requant = found.requant
    assert requant.rounding == Rounding.NATIVE
    assert requant.shift <= 31
    assert found.mul.min() >= 0
    assert found.mul.max() < 2**16
    constant = (requant.zero_point << requant.shift) + ((1 << requant.shift) >> 1)
    for totals in (want.low, want.high):
        sums = totals * found.mul + found.add + constant
        assert sums.min() >= -(2**31)
        assert sums.max() < 2**31


def test_a_closer_line_is_not_overlooked() -> None:
    """No factor and summand around those that were chosen make fewer results differ where they are expected."""
    want = given(7, filters=1)
    found = native(want)
    assert found is not None
    totals = np.arange(want.low[0], want.high[0] + 1)
    exact = want.results(totals[None])[0]
    weights = np.exp(-np.abs(exact - want.requant.zero_point) * 8 / 256)

    def weight(mul: int, add: int) -> float:
        return float(weights[found.requant(totals, np.asarray(mul), np.asarray(add)) != exact].sum())

    mul, add = int(found.mul[0]), int(found.add[0])
    least = weight(mul, add)
    near = [weight(mul + step, add + more * mul // 8) for step in (-1, 0, 1) for more in range(-24, 25)]
    assert least <= 1.05 * min(near) + 2


def test_factors_that_turn_results_around_stay_exact() -> None:
    want = given(3)
    turned = RequantSpec(Requant(36, "int8", -128, 127, 0, "half_even"), -np.abs(want.mul), None, want.low, want.high)
    assert native(turned) is None


def test_wide_results_stay_exact() -> None:
    want = given(3)
    assert (
        native(RequantSpec(Requant(36, "int16", -32768, 32767, 0, "half_even"), want.mul, None, want.low, want.high))
        is None
    )


def test_results_of_one_value_stay_exact() -> None:
    """As of a Clip whose limits are equal."""
    want = given(3)
    assert native(RequantSpec(Requant(36, "int8", 5, 5, 0, "half_even"), want.mul, None, want.low, want.high)) is None

"""Products of two tensors of bytes by a factor that fits 32 bits: all of them are compared."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.requant import full_range
from tilewright.ir.rounding import Rounding
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.passes.numerics.products import ROOM, native_product

pytestmark = pytest.mark.fast


def bytes_of(dtype: str) -> np.ndarray:
    return np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)


@pytest.mark.parametrize("seed", range(12))
def test_results_are_at_most_one_apart_and_hardly_ever(seed: int) -> None:
    random = np.random.default_rng(seed)
    kinds = [str(random.choice(["int8", "uint8"])) for _ in range(3)]
    zeros = [int(random.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1)) for kind in kinds]
    given = QLinearMul(
        zeros[0], zeros[1], int(random.integers(2**27, 2**28)), full_range(35, kinds[2], zeros[2], Rounding.HALF_EVEN)
    )
    found = native_product(given, kinds[0], kinds[1])
    assert found is not None
    a, b = bytes_of(kinds[0])[:, None], bytes_of(kinds[1])[None, :]
    apart = np.abs(found.op.numpy(a, b).astype(int) - given.numpy(a, b).astype(int))
    assert apart.max() <= 1
    assert apart.mean() < 0.01
    products = (a.astype(np.int64) - zeros[0]) * (b.astype(np.int64) - zeros[1])
    assert np.abs(products * found.op.mul).max() < ROOM
    assert found.op.requant.rounding == Rounding.HALF_UP


def test_results_of_16_bits_and_factors_of_0_stay_as_they_are() -> None:
    assert native_product(QLinearMul(0, 0, 2**27, full_range(35, "int16")), "int8", "int8") is None
    assert native_product(QLinearMul(0, 0, 0, full_range(35, "int8")), "int8", "int8") is None

"""Softmaxes of quantised rows, means by one product and what dequantises, against their operators' numpy meaning."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array
from tilewright.ops._qlinear import mean
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.lookup import ENTRIES
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearsoftmax import EXP_BITS, QLinearSoftmax
from tilewright.run.kernel_bench import Case, check
from tilewright.target.kernel import Kernel
from tilewright.targets.pulp.quantised_softmax import LONGEST
from tilewright.targets.pulp.reductions import upper_mean


def kernel(stem: str) -> Kernel:
    return next(one for one in SIRACUSA.engines[0].kernels if one.stem == stem)


SOFTMAX, DEQUANTISE = kernel("qlinearsoftmax_rows"), kernel("dequantizelinear_shared")


def exponentials(step: float) -> Array:
    return np.rint(np.exp(-step * np.arange(ENTRIES)) * 2.0**EXP_BITS).astype(np.int32)


def softmax(draw: Draw) -> Case:
    """Halves of powers of two are ties; small shifts leave nothing to the upper word."""
    rows, length = draw.size(20), int(draw.one_of(1, draw.size(40), LONGEST))  # type: ignore[call-overload]
    shift = int(draw.one_of(52, 52, 45, 33, 20))  # type: ignore[call-overload]
    numerator = 2 ** (shift + 8) if draw.flag() else 2**shift * 200 + int(draw.random.integers(2**shift))
    rounding = str(draw.one_of("half_even", "half_up"))
    requant = Requant(shift, draw.byte(), -90, 110, draw.size(100) - 50, rounding)
    # A flat table makes sums that are powers of two.
    table = exponentials(0.0 if draw.size(4) == 1 else 0.03 * draw.size(9))
    return Case(SOFTMAX, QLinearSoftmax(1, numerator, requant), [draw.array(draw.byte(), rows, length), table])


def dequantised(draw: Draw) -> Case:
    dtype = str(draw.one_of("int8", "uint8", "int16", "uint16"))
    x, zero = draw.array(dtype, draw.size(3), draw.size(70)), draw.array(dtype)
    return Case(DEQUANTISE, DequantizeLinear(1), [x, np.asarray(0.0371, np.float32), np.asarray(zero, dtype)])


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("cores", CORES)
def test_softmax(cores: int) -> None:
    check(share([softmax(Draw(seed)) for seed in range(40)], cores), SIRACUSA, cores)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("cores", CORES)
def test_dequantised(cores: int) -> None:
    check(share([dequantised(Draw(seed)) for seed in range(24)], cores), SIRACUSA, cores)


@pytest.mark.fast
def test_softmaxes_that_are_left_to_others() -> None:
    table, requant = exponentials(0.1), Requant(52, "int8", -128, 127, 0, "half_even")
    for axis, shape in ((0, (3, 4)), (1, (2, LONGEST + 1))):
        op = QLinearSoftmax(axis, 2**60, requant)
        assert SOFTMAX.unsupported_reason(op, Case(SOFTMAX, op, [np.zeros(shape, np.int8), table]).types) is not None


@pytest.mark.fast
@pytest.mark.parametrize("count", [1, 2, 7, 64, 125, 961])
@pytest.mark.parametrize(("mul", "shift"), [(1, 1), (3, 2), (2**30 + 12345, 31), (-900_001, 18), (2**31 - 1, 33)])
def test_a_mean_by_one_product_is_doubtful_or_right(count: int, mul: int, shift: int) -> None:
    op = QLinearReduceMean((0,), mul=mul, requant=Requant(shift, "int8", -128, 127, 3, "half_even"))
    factor, up, bits = upper_mean(op, count)
    totals = np.unique(np.linspace(-255 * count, 255 * count, 20_001).astype(np.int64))
    value = ((totals << up) * factor >> 32) + ((1 << bits) >> 1)
    is_sure = (value + 1) & ((1 << bits) - 1) >= 2
    exact = mean(totals, np.asarray(count), mul, op.requant)
    assert max(abs(factor), np.abs(totals << up).max(), np.abs(value).max()) < 2**31
    assert np.array_equal(np.clip((value >> bits) + 3, -128, 127)[is_sure], exact[is_sure])
    assert is_sure.mean() > 0.4

"""The C kernels of the integer dialect equal the operators' numpy meaning, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import Case, check_kernels
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, limits
from tilewright.ops._dialect import INTEGERS
from tilewright.ops._scaling import UNCHANGED, Scaling
from tilewright.ops.dequant import Dequant
from tilewright.ops.igelu import iGELU
from tilewright.ops.ihardswish import iHardswish
from tilewright.ops.ilayernorm import iLayerNorm
from tilewright.ops.inonorm import iNoNorm
from tilewright.ops.integerdiv import IntegerDiv
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.quant import Quant
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.trueintegerdiv import TrueIntegerDiv

pytestmark = pytest.mark.in_turns(6)

TYPES = sorted(INTEGERS)
RANDOM = np.random.default_rng(2)


def full(dtype: str, *shape: int) -> Array:
    """Values from the whole range of a type, with its limits among them."""
    low, high = limits(dtype)
    values = RANDOM.integers(low, high, shape, np.int64, endpoint=True).astype(dtype)
    if values.size > 1:
        values.reshape(-1)[:2] = low, high
    return values


def small(dtype: str, *shape: int) -> Array:
    low, high = limits(dtype)
    return RANDOM.integers(max(low, -1000), min(high, 1000), shape, np.int64, endpoint=True).astype(dtype)


def test_requantisation() -> None:
    cases: list[Case] = []
    for dtype in TYPES:
        for axis, shape in ((-1, (2, 3, 5)), (0, (4, 3)), (1, (2, 3, 4, 5)), (2, (2, 3, 7)), (1, (0, 3)), (1, (2, 0))):
            channels = 1 if axis < 0 else shape[axis]
            for requant in (full_range(16, "int8"), Requant(0, "uint8", 0, 200), Requant(31, "int32", -9, 10**6)):
                arrays = [full(dtype, *shape), full("int32", channels), full("int32", channels)]
                cases.append((RequantShift(requant, axis), arrays))
    check_kernels(cases)


@pytest.mark.parametrize("rounding", ["half_up", "half_even"])
def test_ties(rounding: str) -> None:
    """Every tie of a byte: of odd numbers divided by 2, and of 2, 6, 10, ... divided by 4."""
    x, none = np.arange(-128, 128).astype(np.int8), np.zeros(1, np.int32)
    check_kernels(
        [
            (RequantShift(full_range(shift, "int32", rounding=rounding)), [x, np.array([mul], np.int32), none])
            for shift in (1, 2)
            for mul in (1, -1)
        ]
    )


def test_sums_of_requantised_tensors() -> None:
    halve = Scaling(1 << 15, 7, full_range(16, "int8"))
    cases: list[Case] = [
        (RequantizedAdd(first, second, out), [full(left, *shape_a), full(right, *shape_b)])
        for left, right in (("int8", "int8"), ("uint8", "int32"), ("int32", "int16"))
        for shape_a, shape_b in (((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (3, 1)), ((1, 5), (4, 1)), ((0, 3), (1, 3)))
        for first, second, out in ((halve, UNCHANGED, halve), (UNCHANGED, UNCHANGED, UNCHANGED), (halve, halve, halve))
    ]
    check_kernels(cases)


HALVE = Scaling(1 << 15, -99, full_range(16, "int8"))
REQUANTISED = (iSoftmax(256, 127, 1, 173, 15599, out=HALVE), ITAMax(256, out=HALVE), ITAPartialMax(64, 3, out=HALVE))


def test_softmaxes() -> None:
    rows = [(3, 17), (2, 3, 1), (1, 2, 2, 40), (0, 5), (3, 0)]
    operators = [
        iSoftmax(256, 127, 1, 173, 15599), iSoftmax(16, 3, 2, 1, 0), ITAMax(256), ITAMax(32), ITAPartialMax(256, 16),
        ITAPartialMax(64, 3), *REQUANTISED,
    ]  # fmt: skip
    check_kernels([(op, [full(dtype, *shape)]) for op in operators for dtype in TYPES for shape in rows])


def test_norms() -> None:
    cases: list[Case] = []
    for dtype in TYPES:
        for shape in ((3, 16), (2, 3, 1), (0, 4), (4, 0)):
            weight, bias = full("int32", shape[-1]), full("int32", shape[-1])
            for values in (full(dtype, *shape), small(dtype, *shape)):
                cases += [(iLayerNorm(14), [values, weight, bias]), (iRMSNorm(16), [values, weight])]
                cases.append((iNoNorm(425, 16), [values, small("int8", *shape), small("int16", shape[-1])]))
    cases.append((iNoNorm(-3, 2), [full("int8", 2, 1, 5), full("int8", 3, 1), full("int32", 1)]))
    check_kernels(cases)


def test_activations_and_divisions() -> None:
    cases: list[Case] = []
    for dtype in TYPES:
        values = full(dtype, 5, 9)
        cases += [(iGELU(-40, 1743), [values]), (iHardswish(765, 1530, 33), [values])]
        cases += [(TrueIntegerDiv(16384, 200000, 1, 2), [values]), (TrueIntegerDiv(3, 1, 1, -2), [values])]
        cases += [(TrueIntegerDiv(3, 1, 0, 0), [values]), (IntegerDiv(7, 11, 3), [values, full("int8", 9)])]
        cases.append((IntegerDiv(2**20, 2**18, 0), [full("int8", 0, 9), full(dtype, 9)]))
    cases.append((IntegerDiv(2**31 - 1, 255, 254), [full("int32", 4, 4), np.array([[-1], [0], [1], [2]], np.int8)]))
    check_kernels(cases)


def test_between_floats_and_integers() -> None:
    floats = np.concatenate([RANDOM.normal(0, 100, 400), [0.5, -0.5, 1.5, 0.49999997, 1e30, -1e30, np.nan, np.inf]])
    cases: list[Case] = [
        (op, [floats.astype(np.float32)])
        for op in (Quant(1.0), Quant(0.1, 3, 0, 15), Quant(0.37, -5, 0, 255), Quant(1e-5, 0, -(2**30), 2**30 - 1))
    ]
    cases += [(Dequant(0.1, 3), [full(dtype, 40)]) for dtype in TYPES]
    check_kernels(cases, tolerance=0)

"""Depthwise convolutions and requantisations on the Snitch cluster."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.snitch.machine import SNITCH, floats, integers, kernel
from tilewright.ir.requant import Requant
from tilewright.ops.conv import Conv
from tilewright.ops.relu import Relu
from tilewright.ops.requantshift import RequantShift
from tilewright.run.kernel_bench import Case, check

AROUND = (1, 1, 1, 1)


@pytest.mark.in_turns(5)
def test_depthwise_convolutions() -> None:
    """Of an odd number of filters and of two on a channel; narrow and wide, with holes; few planes for many cores."""
    of_floats, of_bytes = kernel("depthwise_streams_f32.c"), kernel("depthwise_bytes.c")
    near, far = (Requant(shift, "int8", -128, 127, 3, "half_even") for shift in (18, 38))
    few = integers("int32", 16) // 2**16
    cases = [
        Case(of_floats, Conv(groups=2, padding=AROUND), [floats(1, 2, 30, 21), floats(2, 1, 3, 3)]),
        Case(
            of_floats, Conv(groups=4, padding=(0, 1, 2, 1), strides=(2, 1), activation=Relu()),
            [floats(2, 4, 9, 8), floats(4, 1, 3, 2), floats(4)],
        ),
        Case(of_floats, Conv(groups=3, padding=AROUND, strides=(2, 2)), [floats(1, 3, 11, 3), floats(6, 1, 3, 3)]),
        Case(
            of_bytes, Conv(groups=16, padding=AROUND, requant=near),
            [integers("int8", 1, 16, 9, 5), integers("int8", 16, 1, 3, 3), None, abs(few) // 8 + 1, few],
        ),
        Case(
            of_bytes, Conv(groups=5, padding=AROUND, requant=far),
            [integers("int8", 1, 5, 6, 12), integers("int8", 5, 1, 3, 3), few[:5], abs(few[:5]) * 2**15, few[:5]],
        ),
    ]  # fmt: skip
    assert all(case.kernel.unsupported_reason(case.op, case.types) is None for case in cases)
    check(cases, SNITCH)


@pytest.mark.in_turns(3)
def test_depthwise_totals() -> None:
    of_bytes = kernel("depthwise_bytes.c")
    holes = Conv(groups=5, x_zero=4, padding=(2, 2, 2, 2), dilations=(2, 2))
    line = Conv(groups=5, x_zero=4, strides=(1,), dilations=(1,), padding=(1, 1))
    cases = [
        Case(of_bytes, holes, [integers("uint8", 1, 5, 9, 19), integers("int8", 5, 1, 3, 3)]),
        Case(of_bytes, line, [integers("uint8", 1, 5, 19), integers("int8", 5, 1, 3), integers("int32", 5) // 2**9]),
    ]
    check(cases, SNITCH)


@pytest.mark.fast
def test_sums_that_floats_do_not_hold() -> None:
    case = Case(
        kernel("depthwise_bytes.c"), Conv(groups=2), [integers("int8", 1, 2, 17, 17), integers("int8", 2, 1, 17, 17)]
    )
    assert case.kernel.unsupported_reason(case.op, case.types) == "sums of 289 products may be more than 4194303"


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("rounding", ["half_up", "half_even", "half_away"])
def test_requantisations(rounding: str) -> None:
    """With shifts on both sides of a word; ties, and quotients far outside of 32 bits."""
    x = np.concatenate([np.arange(-40, 40), integers("int32", 40), np.array([-(2**31), 2**31 - 1])]).astype(np.int32)
    scales = ((0, 1), (1, 1), (2, 3), (31, 2**30), (32, 2**31 - 1), (33, 2**31 - 1), (40, -(2**31)), (33, 2**30))
    cases = [
        Case(
            kernel("requantshift.c"), RequantShift(Requant(shift, "int8", -100, 127, 5, rounding)),
            [x, np.array([factor], np.int32), np.array([2**20 if shift > 20 else 0], np.int32)],
        )
        for shift, factor in scales
    ]  # fmt: skip
    check(cases, SNITCH, cores=1)

"""Requantisations of bytes in doubles: the same integers as everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import targets
from tilewright.ir.requant import Requant, full_range
from tilewright.ops.requantshift import RequantShift
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.snitch.requantising import KERNELS, unsupported_reason

SNITCH = targets.find("snitch")
(REQUANT,) = KERNELS
RNG = np.random.default_rng(4)


def case(shape: tuple[int, ...], dtype: str, requant: Requant, axis: int) -> Case:
    """With results of which some are clipped, and factors that make many ties."""
    channels = shape[axis] if axis >= 0 else 1
    limits = np.iinfo(dtype)
    x = RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)
    mul = RNG.integers(-4, 5, channels) << (requant.shift - 2)
    add = RNG.integers(-200, 200, channels) << (requant.shift - 1)
    odd = np.arange(channels) % 2
    mul, add = (values + odd * RNG.integers(-99, 99, channels) for values in (mul, add))
    made = Case(REQUANT, RequantShift(requant, axis), [x, mul.astype(np.int32), add.astype(np.int32)])
    assert unsupported_reason(made.op, made.types) is None
    return made


@pytest.mark.in_turns(5)
def test_results_are_exact() -> None:
    """Both roundings, zero points of both parities, channels in every place, rows that begin between words."""
    even = full_range(20, "int8", -5, "half_even")
    check(
        [
            case((3, 7, 48), "int8", even, 2),
            case((9, 33), "uint8", full_range(9, "uint8", 100, "half_even"), 1),
            case((2, 3, 5, 60), "int8", full_range(21, "uint8", 3), 1),
            case((600,), "int8", full_range(15, "int8"), -1),
            case((1, 5), "int8", even, 0),
        ],
        SNITCH,
    )


@pytest.mark.fast
def test_what_it_does_not_take() -> None:
    ones = np.ones(1, np.int32)
    made = Case(REQUANT, RequantShift(full_range(8, "int8")), [np.zeros((2, 4), np.int8), ones, ones])
    assert "shifted by 8 bits, only 9 to 62" in (unsupported_reason(made.op, made.types) or "")

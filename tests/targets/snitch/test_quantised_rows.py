"""Normalisations of bytes in doubles: the same integers as everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import targets
from tilewright.ir.requant import Requant, full_range
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.snitch.quantised_rows import KERNELS, norm_unsupported

SNITCH = targets.find("snitch")
(NORM,) = KERNELS
RNG = np.random.default_rng(3)


def case(x: np.ndarray, requant: Requant, zero: int = 0, centred: bool = True, epsilon: int = 272218061429) -> Case:
    length = x.shape[1]
    mul = RNG.integers(-(2**30), 2**30, (1, length)).astype(np.int32)
    add = RNG.integers(-(2**24), 2**24, (1, length)).astype(np.int32)
    made = Case(NORM, QLinearRowNorm(1, centred, zero, epsilon, 32, 17, requant), [x, mul, add])
    assert norm_unsupported(made.op, made.types) is None
    return made


@pytest.mark.in_turns(5)
def test_results_are_exact() -> None:
    """Both roundings, clipped results and others, rows without a spread or that begin between words, lengths that are
    no multiple of eight."""
    x = RNG.integers(-128, 128, (19, 128)).astype(np.int8)
    even, up = full_range(44, "int8", 0, "half_even"), full_range(43, "uint8", 77)
    cases = [
        case(x, even),
        case(x[:, :32], full_range(45, "int8", -18, "half_even")),
        case(x.view(np.uint8)[:, :33], up, zero=100),
        case(x[:, :30], full_range(43, "int8", -5, "half_even"), zero=-128),
        case(x[:, :40], even, centred=False),
        case((x > 0)[:, :64].astype(np.int8), even),
        case(np.full((3, 7), 5, np.int8), even, centred=False),
        case(np.full((3, 7), 5, np.int8), up, epsilon=0),
    ]
    check(cases, SNITCH)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("length", "mul", "requant", "reason"),
    [
        (64, 64, full_range(50, "int8", 0, "half_even"), "more than 44 fraction bits"),
        (64, 1, full_range(40, "int8"), "its factors are not those of one row"),
    ],
)
def test_what_it_does_not_take(length: int, mul: int, requant: Requant, reason: str) -> None:
    factors = np.ones((1, mul), np.int32)
    made = Case(NORM, QLinearRowNorm(1, requant=requant), [np.zeros((2, length), np.int8), factors, factors])
    unsupported_reason = norm_unsupported(made.op, made.types)
    assert unsupported_reason is not None
    assert reason in unsupported_reason


@pytest.mark.fast
@pytest.mark.parametrize(
    ("shift", "lift", "rounding", "reason"),
    [
        (26, 0, "half_even", "less than 27 bits"),
        (27, 26, "half_even", "less than 28 bits"),
        (40, 22, "half_up", "more than 21 bits"),
        (40, 22, "half_even", None),
    ],
)
def test_sums_that_doubles_and_words_hold(shift: int, lift: int, rounding: str, reason: str | None) -> None:
    ones = np.ones((1, 64), np.int32)
    op = QLinearRowNorm(1, lift=lift, requant=full_range(shift, "int8", 0, rounding))
    made = Case(NORM, op, [np.zeros((2, 64), np.int8), ones, ones])
    unsupported_reason = norm_unsupported(made.op, made.types)
    assert (reason is None) == (unsupported_reason is None)
    assert unsupported_reason is None or (reason or "") in unsupported_reason

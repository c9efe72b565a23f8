"""The sum of two quantised tensors by two factors of a byte each and one of the sum.

    clip(((a * first + b * second) * mul + summand) >> shift)

Cores with dot products of bytes have both products in one instruction. Two bytes have 65,536 sums: all of them are
counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np

from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.records import dataclass
from tilewright.requant.spec import NEAR

MOST = 255
"""Of a factor, which is an unsigned byte."""
PAIRS = 16
"""Of factors that are tried, from the closest on."""
ROOM = 2**31 - 1
"""That no sum exceeds."""
GROUP_BITS = 12
"""Of the number of groups that values are put into before a median is looked for."""


@dataclass(frozen=True, eq=False)
class NativeSum:
    op: QLinearAdd
    share: float
    """Of the sums whose result is not saturated, that give another one."""
    expected: float
    """The same where results lie around the zero point."""


@cache
def native_sum(given: QLinearAdd | TfliteAdd, a: str, b: str) -> NativeSum | None:
    """The closest one for operands of two types of bytes; None where there is none that is never two apart."""
    left, right = (np.arange(limits(dtype)[0], limits(dtype)[1] + 1).astype(dtype) for dtype in (a, b))
    x, y = np.meshgrid(left, right, indexing="ij")
    exact = given.numpy(x, y).astype(np.int64)
    slopes = _slopes(given)
    if given.requant.dtype not in ("int8", "uint8") or min(slopes) <= 0:
        return None
    wanted = _Wanted.of(given, exact)
    tried = (_tried(given, wanted, left, right, pair, slopes) for pair in _pairs(slopes))
    return min(filter(None, tried), key=lambda one: one.expected, default=None)


@dataclass(frozen=True, eq=False)
class _Wanted:
    """What is the same for all factors that are tried."""

    exact: Array
    inside: Array
    """Results that are not saturated."""
    weights: Array
    """How often each result is expected."""
    counted: Array
    """Those that the summand is chosen by, which the following are of."""
    above_zero: Array
    counted_weights: Array

    @staticmethod
    def of(given: QLinearAdd | TfliteAdd, exact: Array) -> _Wanted:
        requant = given.requant
        inside, above_zero = (exact > requant.low) & (exact < requant.high), exact - requant.zero_point
        weights = np.exp(-np.abs(above_zero) * NEAR / len(exact)) * inside
        counted = weights > 0 if weights.any() else np.ones(weights.shape, bool)
        return _Wanted(exact, inside, weights, counted, above_zero[counted], weights[counted])


def _slopes(given: QLinearAdd | TfliteAdd) -> tuple[float, float]:
    """Results per step of each operand."""
    if isinstance(given, QLinearAdd):
        return given.mul_a * 2.0**-given.requant.shift, given.mul_b * 2.0**-given.requant.shift
    out = given.mul * 2.0 ** (given.exponent - 31 + given.left)
    first, second = (one.mul * 2.0 ** (one.exponent - 31) * out for one in (given.first, given.second))
    return first, second


def _pairs(slopes: tuple[float, float]) -> list[tuple[int, int]]:
    """Factors in nearly the same ratio, the closest first."""

    def pair(most: int) -> tuple[int, int]:
        first, second = (round(most * slope / max(slopes)) for slope in slopes)
        return first, second

    def error(found: tuple[int, int]) -> float:
        return abs(found[0] * slopes[1] - found[1] * slopes[0]) / max(found)

    return sorted({pair(most) for most in range(MOST // 2, MOST + 1)}, key=error)[:PAIRS]


def _tried(
    given: QLinearAdd | TfliteAdd, wanted: _Wanted, left: Array, right: Array, pair: tuple[int, int],
    slopes: tuple[float, float],
) -> NativeSum | None:  # fmt: skip
    """The best factor and summand for a pair of factors."""
    sums = np.add.outer(left.astype(np.int64) * pair[0], right.astype(np.int64) * pair[1])
    unit = sum(slopes) / sum(pair)
    finest = min(30, int(np.floor(np.log2(ROOM / (float(np.abs(sums).max()) * unit + len(left))))))
    counted = sums[wanted.counted]
    found = []
    for shift in (finest, finest - 1):
        requant = replace(given.requant, shift=shift, rounding=Rounding.HALF_UP)
        for mul in _factors(unit * 2.0**shift):
            # By which most sums have their results: the median of what each of them asks.
            offset = _median((wanted.above_zero << shift) - counted * mul, wanted.counted_weights)
            op = QLinearAdd(pair[0] * mul, pair[1] * mul, offset, requant)
            if _largest(op, left.dtype.name, right.dtype.name) < ROOM:
                found.append(_counted(op, wanted, op.numpy(left[:, None], right[None, :])))
    return min(filter(None, found), key=lambda one: one.expected, default=None)


def _counted(op: QLinearAdd, wanted: _Wanted, ours: Array) -> NativeSum | None:
    inside, weights = wanted.inside, wanted.weights
    apart = np.abs(ours.astype(np.int64) - wanted.exact)
    if apart.max() > 1:
        return None
    share = float((apart * inside).sum()) / max(int(inside.sum()), 1)
    return NativeSum(op, share, float((apart * weights).sum()) / max(float(weights.sum()), 1.0))


def _largest(op: QLinearAdd, a: str, b: str) -> int:
    """A bound of the sum, also where operands of int8 are stored as uint8 with another offset."""
    flips = product(*((0, 128) if dtype == "int8" else (0,) for dtype in (a, b)))
    stored = ("int8", "uint8")
    return max(
        replace(op, offset=op.offset - i * op.mul_a - j * op.mul_b).largest(
            *(stored[flip > 0 or dtype == "uint8"] for flip, dtype in ((i, a), (j, b)))
        )
        for i, j in flips
    )


def _factors(nearest: float) -> Iterator[int]:
    yield from {max(1, int(np.floor(nearest))), max(1, int(np.ceil(nearest)))}


def _median(values: Array, weights: Array) -> int:
    """The least value that, with those below it, has half of the weight. Only those near it are sorted."""
    least = values.min()
    groups = (values - least) >> max(0, int(values.max() - least).bit_length() - GROUP_BITS)
    sums = np.cumsum(np.bincount(groups, weights))
    half = sums[-1] / 2
    group = int(np.searchsorted(sums, half))
    near = np.flatnonzero(groups == group)
    near = near[np.argsort(values[near])]
    before = sums[group - 1] if group else 0.0
    position = np.searchsorted(before + np.cumsum(weights[near]), half)
    return int(values[near[min(int(position), len(near) - 1)]])

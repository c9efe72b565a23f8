"""The sum of two quantised tensors by two factors of a byte each and one of the sum.

    clip(((a * first + b * second) * mul + summand) >> shift)

Cores with dot products of bytes have both products in one instruction. Two bytes have 65,536 sums: all of them are
counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from tilewright.ir.types import Array, limits
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.passes.numerics.native import NEAR

MOST = 127
"""Of a factor."""
PAIRS = 6
"""Of factors that are tried, from the closest on."""
ROOM = 2**30
"""That no sum exceeds."""


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
    left, right = (np.arange(limits(dtype)[0], limits(dtype)[1] + 1) for dtype in (a, b))
    x, y = np.meshgrid(left.astype(a), right.astype(b), indexing="ij")
    exact = given.numpy(x, y).astype(np.int64)
    slopes = _slopes(given)
    if given.requant.dtype not in ("int8", "uint8") or not all(slopes):
        return None
    tried = (_tried(given, exact, left, right, pair, slopes) for pair in _pairs(slopes))
    return min(filter(None, tried), key=lambda one: one.expected, default=None)


def _slopes(given: QLinearAdd | TfliteAdd) -> tuple[float, float]:
    """Results per step of each operand."""
    if isinstance(given, QLinearAdd):
        return given.mul_a * 2.0**-given.requant.shift, given.mul_b * 2.0**-given.requant.shift
    out = given.mul * 2.0 ** (given.exponent - 31 + given.left)
    first, second = (one.mul * 2.0 ** (one.exponent - 31) * out for one in (given.first, given.second))
    return first, second


def _pairs(slopes: tuple[float, float]) -> list[tuple[int, int]]:
    """Factors in nearly the same ratio, the closest first."""
    large = max(slopes, key=abs)

    def pair(most: int) -> tuple[int, int]:
        first, second = (round(most * slope / abs(large)) for slope in slopes)
        return first, second

    def error(found: tuple[int, int]) -> float:
        return abs(found[0] * slopes[1] - found[1] * slopes[0]) / max(map(abs, found))

    return sorted({pair(most) for most in range(MOST // 2, MOST + 1)}, key=error)[:PAIRS]


def _tried(
    given: QLinearAdd | TfliteAdd, exact: Array, left: Array, right: Array, pair: tuple[int, int],
    slopes: tuple[float, float],
) -> NativeSum | None:  # fmt: skip
    sums = np.add.outer(left.astype(np.int64) * pair[0], right.astype(np.int64) * pair[1])
    unit = (abs(slopes[0]) + abs(slopes[1])) / (abs(pair[0]) + abs(pair[1]))
    shift = int(np.floor(np.log2(ROOM / (float(np.abs(sums).max()) * unit + 2 * len(left)))))
    requant = replace(given.requant, shift=min(shift, 30), rounding="half_up")
    inside = (exact > requant.low) & (exact < requant.high)
    weights = np.exp(-np.abs(exact - requant.zero_point) * NEAR / len(left)) * inside
    found = None
    for mul in _factors(unit * 2.0**requant.shift):
        offset = _offset(exact, sums * mul, requant.shift, requant.zero_point, weights)
        op = QLinearAdd(pair[0] * mul, pair[1] * mul, offset, requant)
        apart = np.abs(op.numpy(left[:, None], right[None, :]).astype(np.int64) - exact)
        if apart.max() > 1:
            continue
        share = float((apart * inside).sum()) / max(int(inside.sum()), 1)
        one = NativeSum(op, share, float((apart * weights).sum()) / max(float(weights.sum()), 1.0))
        found = one if found is None or one.expected < found.expected else found
    return found


def _factors(nearest: float) -> Iterator[int]:
    yield from {max(1, int(np.floor(nearest))), max(1, int(np.ceil(nearest)))}


def _offset(exact: Array, products: Array, shift: int, zero_point: int, weights: Array) -> int:
    """By which most sums have their results: the median of what each of them asks."""
    asked = ((exact - zero_point) << shift) - products
    order = np.argsort(asked, axis=None)
    sums = np.cumsum(weights.reshape(-1)[order])
    return int(asked.reshape(-1)[order][np.searchsorted(sums, sums[-1] / 2)])

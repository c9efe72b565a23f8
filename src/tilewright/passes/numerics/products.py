"""The product of two quantised tensors by a factor that is short enough for 32 bits.

    clip(((a - a_zero) * (b - b_zero) * mul + add) >> shift)

Two bytes have 65,536 products: all of them are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.records import dataclass
from tilewright.requant.spec import NEAR

BYTES = ("int8", "uint8")
ROOM = 2**31 - 1
"""That no product exceeds, rounding and zero point included."""


@dataclass(frozen=True, eq=False)
class NativeProduct:
    op: QLinearMul
    share: float
    """Of the products whose result is not saturated, that give another one."""
    expected: float
    """The same where results lie around the zero point."""


@cache
def native_product(given: QLinearMul, a: str, b: str) -> NativeProduct | None:
    """The closest one for operands of two types of bytes; None where there is none that is never two apart."""
    requant = given.requant
    if requant.dtype not in BYTES or requant.has_exponents or given.mul <= 0:
        return None
    left, right = (np.arange(limits(dtype)[0], limits(dtype)[1] + 1).astype(dtype) for dtype in (a, b))
    exact = given.numpy(left[:, None], right[None, :]).astype(np.int64)
    products = np.multiply.outer(left.astype(np.int64) - given.a_zero, right.astype(np.int64) - given.b_zero)
    tried = (_counted(op, exact, left, right) for op in _candidates(given, products))
    return min(filter(None, tried), key=lambda one: one.expected, default=None)


def _candidates(given: QLinearMul, products: Array) -> Iterator[QLinearMul]:
    """The finest factors that there is room for."""
    requant, unit = given.requant, given.mul * 2.0**-given.requant.shift
    most = float(np.abs(products).max()) * unit + abs(requant.zero_point - requant.low) + 1
    finest = min(30, int(np.floor(np.log2(ROOM / (2 * most)))))
    for shift in (finest, finest - 1):
        near = unit * 2.0**shift
        for mul in sorted({max(1, int(np.floor(near))), int(np.ceil(near))}):
            add = round(given.add * 2.0 ** (shift - requant.shift))
            yield replace(given, mul=mul, add=add, requant=replace(requant, shift=shift, rounding=Rounding.HALF_UP))


def _counted(op: QLinearMul, exact: Array, left: Array, right: Array) -> NativeProduct | None:
    requant = op.requant
    apart = np.abs(op.numpy(left[:, None], right[None, :]).astype(np.int64) - exact)
    if apart.max() > 1:
        return None
    inside = (exact > requant.low) & (exact < requant.high)
    weights = np.exp(-np.abs(exact - requant.zero_point) * NEAR / len(exact)) * inside
    share = float((apart * inside).sum()) / max(int(inside.sum()), 1)
    return NativeProduct(op, share, float((apart * weights).sum()) / max(float(weights.sum()), 1.0))

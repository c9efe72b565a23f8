"""The kernel of TensorFlow Lite's sums of bytes: a table for one operand and a factor for the other, if that gives all
results; otherwise two tables, and one rounding by high words."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import cast

import numpy as np

from tilewright.errors import present
from tilewright.ir.op import Op, Params
from tilewright.ir.types import Array, limits
from tilewright.ops._linear import NARROW
from tilewright.ops.tfliteadd import Summand, TfliteAdd
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.hwpe.finish import LIFT, scaled_finish
from tilewright.targets.pulp.elementwise_features import binary_features

FINEST, SHIFTS = 21, 4
"""Shifts that are tried, from the finest on."""
NEAREST = (0, -1, 1, -2, 2)
"""Factors that are tried, from the nearest on."""
FARTHEST = 1 << 30
"""From 0, where an entry of the table may be anything."""


@cache
def _tables(op: TfliteAdd, a: str, b: str) -> tuple[Array, Array]:
    """Four times what becomes of every byte."""

    def entries(dtype: str, summand: Summand) -> Array:
        low, high = limits(dtype)
        return op.scaled(np.arange(low, high + 1), summand) << LIFT

    return entries(a, op.first), entries(b, op.second)


def _limit(op: TfliteAdd, a: str, b: str) -> int:
    """How far from 0 a sum may be."""
    return sum(int(np.abs(table).max()) for table in _tables(op, a, b)) >> LIFT


@dataclass(frozen=True, eq=False)
class Once:
    """(table[a] + b * factor) >> shift, from the lowest result on: exact for all pairs of bytes."""

    table: Array
    factor: int
    shift: int


@cache
def once(op: TfliteAdd, a: str, b: str) -> Once | None:
    """The finest one whose sums stay within 32 bits. For each entry of the table, every b says between which values it
    has to lie."""
    left, right = (np.arange(limits(dtype)[0], limits(dtype)[1] + 1, dtype=np.int64) for dtype in (a, b))
    wanted = op.numpy(left[:, None], right[None, :]).astype(np.int64) - op.requant.low
    ratio = op.second.mul * op.mul * 2.0 ** (op.second.exponent + op.exponent + op.left - 62)
    for shift, step in product(range(FINEST, FINEST - SHIFTS, -1), NEAREST):
        factor = round(ratio * 2.0**shift) + step
        table = _table(wanted, right * factor, shift, op.requant.high - op.requant.low)
        if table is not None and np.abs(table).max() + np.abs(right * factor).max() < 1 << 31:
            return Once(table, factor, shift)
    return None


def _table(wanted: Array, products: Array, shift: int, top: int) -> Array | None:
    """The middle of what suits all products, which are those of the columns of `wanted`."""
    least = np.where(wanted > 0, (wanted << shift) - products, -FARTHEST).max(axis=1)
    most = np.where(wanted < top, ((wanted + 1) << shift) - 1 - products, FARTHEST).min(axis=1)
    return None if np.any(least > most) else (least + most) >> 1


def params(op: Op, types: Types) -> Params:
    total = cast(TfliteAdd, op)
    a, b = types["A"].dtype, types["B"].dtype
    found = scaled_finish(total.requant, np.array([total.mul]), np.array([total.exponent]), _limit(total, a, b))
    finish = present(found, op.kind, "is not rounded by high words")
    first, second = (tuple(table.tolist()) for table in _tables(total, a, b))
    right, alone = -total.exponent, once(total, a, b)
    fields: Params = {
        "loops": cast(Params, params_of(op, types)["loops"]), "once": int(alone is not None), "first": first,
        "second": second, "mul": total.mul, "less": finish.bound, "summand": finish.summand + (finish.shift << right),
        "shift": right + 1, "top": total.requant.high - total.requant.low, "low": total.requant.low,
    }  # fmt: skip
    if alone is None:
        return fields
    return {**fields, "first": tuple(alone.table.tolist()), "mul": alone.factor, "shift": alone.shift}


def unsupported_reason(op: Op, types: Types) -> str | None:
    total = cast(TfliteAdd, op)
    limit = _limit(total, types["A"].dtype, types["B"].dtype)
    found = scaled_finish(total.requant, np.array([total.mul]), np.array([total.exponent]), limit)
    return None if found else "its sums are not rounded by high words"


KERNELS = (
    Kernel(
        TfliteAdd, "tfliteadd_tables.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW}, params,
        unsupported_reason=unsupported_reason, cooperative=True, features=binary_features,
    ),
)  # fmt: skip

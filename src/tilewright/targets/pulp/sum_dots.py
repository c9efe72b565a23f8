"""The kernel of sums of bytes whose factors are bytes times a common one: a dot product for each result."""

from __future__ import annotations

import math
from functools import cache
from typing import cast

from tilewright.errors import present
from tilewright.ir.op import Op, Params
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import limits
from tilewright.ops._linear import NARROW
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp.sizes import in_c

FLIPPED = 128
"""Signed bytes are so much more as unsigned ones."""
BYTE = limits("uint8")
INT32 = limits("int32")


@dataclass(frozen=True)
class Dots:
    """low + clip(((a * first + b * second) * mul + add) >> shift, 0 to top), of bytes as unsigned ones."""

    first: int
    second: int
    mul: int
    add: int


@cache
def dots_of(op: QLinearAdd, a: str, b: str) -> Dots | str:
    """A text says why there are none."""
    if op.requant.rounding != Rounding.HALF_UP or not 0 < op.requant.shift <= 30:
        return "ties do not go up, or it is not shifted"
    mul = math.gcd(op.mul_a, op.mul_b)
    first, second = (factor // max(mul, 1) for factor in (op.mul_a, op.mul_b))
    if not all(BYTE[0] <= factor <= BYTE[1] for factor in (first, second)):
        return f"factors of {first} and {second} are no bytes"
    requant = op.requant
    add = op.offset + ((1 << requant.shift) >> 1) + ((requant.zero_point - requant.low) << requant.shift)
    add -= FLIPPED * mul * (first * (a == "int8") + second * (b == "int8"))
    ends = [255 * mul * (first * i + second * j) + add for i in (0, 1) for j in (0, 1)]
    if min(*ends, add) < INT32[0] or max(*ends, add) > INT32[1]:
        return "its sums need more than 32 bits"
    return Dots(first, second, mul, add)


def _dots(op: Op, types: Types) -> Dots | str:
    return dots_of(cast(QLinearAdd, op), types["A"].dtype, types["B"].dtype)


def dots_params(op: Op, types: Types) -> Params:
    found, requant = _dots(op, types), cast(QLinearAdd, op).requant
    dots = present(found if isinstance(found, Dots) else None, op.kind, "has no factors of a byte")
    flips = {f"flip_{name.lower()}": 0x80808080 if types[name].dtype == "int8" else 0 for name in "AB"}
    return {
        "count": types["Y"].elements, **flips, "factors": (dots.first & 0xFF) | (dots.second & 0xFF) << 8,
        "mul": dots.mul, "add": dots.add, "shift": requant.shift, "top": requant.high - requant.low,
        "low": requant.low,
    }  # fmt: skip


def dots_unsupported(op: Op, types: Types) -> str | None:
    if types["A"].shape != types["Y"].shape or types["B"].shape != types["Y"].shape:
        return "an operand is broadcast"
    found = _dots(op, types)
    return found if isinstance(found, str) else None


KERNELS = (
    Kernel(
        QLinearAdd, "qlinearadd_dots.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW}, dots_params,
        unsupported_reason=dots_unsupported, cooperative=True, work=in_c.work("tw_qlinearadd_dots_work"),
    ),
)  # fmt: skip

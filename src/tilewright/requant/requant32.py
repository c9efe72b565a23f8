"""Requantisations that 32 bits suffice for, as the kernels take them (tw_narrowing in C)."""

from __future__ import annotations

from functools import cache

import numpy as np

from tilewright.ir.op import Params
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.records import dataclass


@dataclass(frozen=True)
class Requant32:
    """round((x * mul + add) / 2**shift) is from 0 to `top`; the result is that plus `low`."""

    mul: int
    add: int
    shift: int
    top: int
    low: int
    even: bool = False
    zero: int = 0

    def params(self) -> Params:
        return {
            "mul": self.mul, "add": self.add, "shift": self.shift, "top": self.top, "even": int(self.even),
            "zero": self.zero,
        }  # fmt: skip


def requant32(requant: Requant, mul: int, add: int, lowest: int, highest: int, before: int = 0) -> Requant32 | None:
    """For integers x from `lowest` to `highest`, of which the kernel sees x - before; None if 32 bits are short."""
    if requant.has_exponents or (requant.rounding == Rounding.HALF_AWAY and requant.shift):
        return None
    ends = sorted(_unclamped(requant, x * mul + add) for x in (lowest, highest))
    low, high = (min(max(end, requant.low), requant.high) for end in ends)
    even = requant.rounding == Rounding.HALF_EVEN
    half = (1 << requant.shift) >> 1
    zero = requant.zero_point - low
    summand = add + before * mul + (0 if even else half + (zero << requant.shift))
    sums = [(x - before) * mul + summand for x in (lowest, highest)] + [summand]
    if requant.shift > 30 or max(map(abs, sums)) + 2 * half >= 2**31 or abs(mul) >= 2**31 or abs(zero) >= 2**30:
        return None
    return Requant32(mul, summand, requant.shift, high - low, low, even, zero if even else 0)


# ---- by one product of 16 bits ------------------------------------------------------------------------------------

HALF = 2**15
"""Products of two numbers from -HALF to HALF - 1 are one instruction, with their rounding to the upper half."""


def narrowed(found: Requant32, x: Array) -> Array:
    """The result less the lowest one, if ties go up."""
    return np.clip((x * found.mul + found.add) >> found.shift, 0, found.top)


def half_factor(found: Requant32) -> int | None:
    """What to multiply by for the upper half to be the result, but for the summand; None where 16 bits are short."""
    factor, rest = divmod(found.mul << 16, 1 << found.shift)
    return None if rest or found.even or not -HALF <= factor < HALF else factor


def upper_half(x: Array, factor: int) -> Array:
    return (x * factor + HALF) >> 16


@cache
def byte_factor(found: Requant32, dtype: str, lowest: int, highest: int) -> int | None:
    """One whose products' upper half, clipped to bytes, is the result for all integers from `lowest` to `highest`."""
    factor = half_factor(found)
    if not factor or lowest < -HALF or highest >= HALF:
        return None
    every = np.arange(lowest, highest + 1, dtype=np.int64)
    wanted = narrowed(found, every) + found.low
    return factor if (np.clip(upper_half(every, factor), *limits(dtype)) == wanted).all() else None


# ---- ends ---------------------------------------------------------------------------------------------------------


def _unclamped(requant: Requant, total: int) -> int:
    half = (1 << requant.shift) >> 1
    if requant.rounding == Rounding.HALF_EVEN and requant.shift:
        half += ((total >> requant.shift) & 1) - 1
    return ((total + half) >> requant.shift) + requant.zero_point

"""Requantisations that 32 bits suffice for, as the kernels take them (tw_narrowing in C)."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.op import Params
from tilewright.requant import Requant


@dataclass(frozen=True)
class Stage:
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


def stage(requant: Requant, mul: int, add: int, lowest: int, highest: int, before: int = 0) -> Stage | None:
    """For integers x from `lowest` to `highest`, of which the kernel sees x - before; None if 32 bits are short."""
    ends = sorted(_unclamped(requant, x * mul + add) for x in (lowest, highest))
    low, high = (min(max(end, requant.low), requant.high) for end in ends)
    even = requant.rounding == "half_even"
    half = (1 << requant.shift) >> 1
    zero = requant.zero_point - low
    summand = add + before * mul + (0 if even else half + (zero << requant.shift))
    sums = [(x - before) * mul + summand for x in (lowest, highest)] + [summand]
    if requant.shift > 30 or max(map(abs, sums)) + 2 * half >= 2**31 or abs(mul) >= 2**31 or abs(zero) >= 2**30:
        return None
    return Stage(mul, summand, requant.shift, high - low, low, even, zero if even else 0)


def _unclamped(requant: Requant, total: int) -> int:
    half = (1 << requant.shift) >> 1
    if requant.rounding == "half_even" and requant.shift:
        half += ((total >> requant.shift) & 1) - 1
    return ((total + half) >> requant.shift) + requant.zero_point

"""Requantisations by the upper word of one product, as the kernels take them (tw_high_word in C)."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.ir.op import Params
from tilewright.ir.requant import Requant

WORD = 32
TIES = ("half_up", "half_even")
LARGEST_SUMMAND = 2**29
"""Of the upper word, to which a product adds less than 2**30."""


@dataclass(frozen=True)
class HighWord:
    """round(x * mul / 2**(32 + shift - up)), of which the upper word of (x << up) * mul decides all but ties."""

    requant: Requant
    mul: int
    up: int
    shift: int

    @property
    def add(self) -> int:
        return (1 << self.shift >> 1) + (self.requant.zero_point << self.shift)

    def params(self) -> Params:
        requant = self.requant
        return {
            "mul": self.mul, "up": self.up, "shift": self.shift, "add": self.add, "low": requant.low,
            "high": requant.high, "odd": requant.zero_point & 1, "even": int(requant.rounding == "half_even"),
        }  # fmt: skip


def high_word(requant: Requant, mul: int, largest: int) -> HighWord | None:
    """For integers up to `largest` in magnitude; None where two words are needed."""
    if requant.has_exponents or requant.rounding not in TIES or abs(mul) >= 2**31 or largest > 2**31:
        return None
    least = max(WORD + 1 - requant.shift, 0)
    found = HighWord(requant, mul, least, requant.shift + least - WORD)
    if largest << least > 2**31 or found.shift >= WORD or abs(found.add) >= LARGEST_SUMMAND:
        return None
    return found

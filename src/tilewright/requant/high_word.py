"""Requantisations by the upper word of one product, as the kernels take them (tw_high_word in C)."""

from __future__ import annotations

from tilewright.ir.op import Params
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.records import dataclass

WORD = 32
TIES = (Rounding.HALF_UP, Rounding.HALF_EVEN)
SPARE = 10
"""Bits of the upper word below the result: one in 2**SPARE results is looked at whether it is a tie."""
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
        return {
            "mul": self.mul, "up": self.up, "shift": self.shift, "add": self.add, "mask": (1 << self.shift) - 1,
            "odd": odd(self.requant),
        }  # fmt: skip


def odd(requant: Requant) -> int:
    """The zero point's lowest bit, or 2 where ties go up."""
    return requant.zero_point & 1 if requant.rounding == Rounding.HALF_EVEN else 2


def is_plain(requant: Requant) -> bool:
    """Whether ties and clips are such as the kernels have instructions for."""
    is_clipped = requant.clips_to_type
    return is_clipped and not requant.has_exponents and requant.rounding in TIES


def high_word(requant: Requant, mul: int, largest: int) -> HighWord | None:
    """For integers up to `largest` in magnitude; None where two words are needed."""
    if not is_plain(requant) or abs(mul) >= 2**31 or largest > 2**31:
        return None
    wanted, x_room = max(WORD + SPARE - requant.shift, 0), max(31 - (largest - 1).bit_length(), 0)
    # A factor is shifted once and for all, where it has room; the rest is for x.
    own = min(wanted, 31 - abs(mul).bit_length())
    up = min(wanted - own, x_room)
    found = HighWord(requant, mul << own, up, requant.shift + own + up - WORD)
    if not 0 < found.shift < WORD or abs(found.add) >= LARGEST_SUMMAND:
        return None
    return found

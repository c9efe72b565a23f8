"""The ways in which kernels requantise totals, as far as they show in an operator and its types."""

from __future__ import annotations

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.target.kernel import Types


def is_exact(requant: Requant | None, types: Types) -> bool:
    """Whether totals are requantised in 64 bits, as far as that shows in the types; columns.h has the rules."""
    if requant is None or requant.has_exponents:
        return requant is not None
    return (requant.shift > 31 or requant.rounding == Rounding.HALF_EVEN) and "add" in types


def is_high_word(requant: Requant | None, types: Types) -> bool:
    """Whether the high word of a product with its factor is enough: TW_HIGH in columns.h."""
    return requant is not None and requant.shift > 32 and "add" not in types


def is_one_by_one(requant: Requant | None, zero: int, types: Types) -> bool:
    """The same where also a zero point of the second factor leads to totals that are requantised one by one."""
    return is_exact(requant, types) or (requant is not None and zero != 0)


def is_looked_at(requant: Requant | None) -> bool:
    """Whether factors and weights decide how totals are requantised: not where hardware's way is asked for."""
    return requant is not None and requant.rounding != Rounding.NATIVE

"""Floating-point arithmetic by fractions: what the simulator's must give."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

NEAREST_EVEN, TO_ZERO, DOWN, UP, NEAREST_AWAY = range(5)
INEXACT, UNDERFLOW, OVERFLOW, DIV_ZERO, INVALID = 1, 2, 4, 8, 16


@dataclass(frozen=True)
class Format:
    exponent: int
    mantissa: int

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def sign(self) -> int:
        return 1 << self.exponent + self.mantissa

    def value(self, bits: int) -> Fraction:
        """Of a finite number."""
        field, fraction = (bits & ~self.sign) >> self.mantissa, bits & (1 << self.mantissa) - 1
        power = max(field, 1) - self.bias - self.mantissa
        magnitude = (fraction + (1 << self.mantissa if field else 0)) * Fraction(2) ** power
        return -magnitude if bits & self.sign else magnitude

    def rounded(self, exact: Fraction, mode: int, zero_is_negative: bool = False) -> tuple[int, int]:
        """Bits and flags."""
        sign = self.sign if exact < 0 or (exact == 0 and zero_is_negative) else 0
        size = abs(exact)
        if size == 0:
            return sign, 0
        top = _floor_log2(size)
        lowest = max(top - self.mantissa, 1 - self.bias - self.mantissa)
        kept = _to_integer(size / Fraction(2) ** lowest, mode, bool(sign))
        unbounded = _to_integer(size / Fraction(2) ** (top - self.mantissa), mode, bool(sign))
        flags = 0 if kept * Fraction(2) ** lowest == size else INEXACT
        is_tiny = unbounded * Fraction(2) ** (top - self.mantissa) < Fraction(2) ** (1 - self.bias)
        if flags and is_tiny:
            flags |= UNDERFLOW
        if kept * Fraction(2) ** lowest >= Fraction(2) ** (self.bias + 1):
            to_infinity = mode in (NEAREST_EVEN, NEAREST_AWAY) or mode == (DOWN if sign else UP)
            return sign | self.infinity - (not to_infinity), OVERFLOW | INEXACT
        field = lowest + self.mantissa + self.bias
        return sign | (kept if kept < 1 << self.mantissa else kept + (field - 1 << self.mantissa)), flags


DOUBLE, SINGLE, HALF = Format(11, 52), Format(8, 23), Format(5, 10)


def _floor_log2(size: Fraction) -> int:
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if Fraction(2) ** guess <= size else guess - 1


def _to_integer(size: Fraction, mode: int, is_negative: bool) -> int:
    whole, rest = divmod(size.numerator, size.denominator)
    twice = 2 * rest - size.denominator
    if mode == NEAREST_EVEN:
        return whole + (twice > 0 or (twice == 0 and whole % 2 == 1))
    if mode == NEAREST_AWAY:
        return whole + (twice >= 0)
    return whole + (rest > 0 and mode == (DOWN if is_negative else UP))


def root(form: Format, exact: Fraction, mode: int) -> tuple[int, int]:
    """The rounded square root of a positive number: enough digits and one that tells whether more follow."""
    shift = 2 * (form.mantissa + 80 + abs(_floor_log2(exact)))
    scaled = (exact.numerator << shift) // exact.denominator
    digits = isqrt(scaled)
    is_exact = digits * digits == scaled and (exact.numerator << shift) % exact.denominator == 0
    return form.rounded(Fraction(2 * digits + (not is_exact), 2 << shift // 2), mode)

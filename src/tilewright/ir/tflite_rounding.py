"""How TensorFlow Lite's runtimes scale a 32-bit total: by a multiplier and a power of two of its own for each channel.

A scale is mul / 2**31 * 2**exponent, where mul has 31 bits. Runtimes differ in where they round (`rounding.SCALED`).
"""

from __future__ import annotations

import math

import numpy as np

from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array

SCALE_BITS = 31
HALF = 1 << (SCALE_BITS - 1)
LEAST_EXPONENT = -31
"""Smaller scales are zero."""


def scaled(total: Array, mul: Array, exponent: Array | None, rounding: Rounding) -> Array:
    """The total times the scale, rounded, as int64."""
    if rounding == Rounding.FLOAT:
        product = total.astype(np.float32) * mul.astype(np.int32).view(np.float32)
        return np.rint(np.clip(product, -(2.0**31), 2.0**31)).astype(np.int64)
    power = np.zeros(1, np.int64) if exponent is None else exponent.astype(np.int64)
    if rounding == Rounding.SINGLE:
        return _shifted(total.astype(np.int64) * mul.astype(np.int64), SCALE_BITS - power)
    high = high_product(left_shifted(total, np.maximum(power, 0)), mul)
    right = np.maximum(-power, 0)
    return _shifted(high, right) if rounding == Rounding.DOUBLE_UP else divided_by_power(high, right)


def left_shifted(total: Array, bits: Array | int) -> Array:
    """In 32 bits, which wrap around."""
    return (total.astype(np.int64) << bits).astype(np.int32).astype(np.int64)


def high_product(value: Array, mul: Array | int) -> Array:
    """value * mul / 2**31, ties up."""
    return (value * np.asarray(mul, np.int64) + HALF) >> SCALE_BITS


def divided_by_power(value: Array, bits: Array | int) -> Array:
    """value / 2**bits, ties away from zero."""
    bits = np.asarray(bits, np.int64)
    half = (1 << bits) >> 1
    return (value + half - ((value < 0) & (bits > 0))) >> bits


def _shifted(value: Array, bits: Array) -> Array:
    """value / 2**bits, ties up."""
    return (value + ((np.int64(1) << bits) >> 1)) >> bits


def multiplier(scale: float) -> tuple[int, int]:
    """mul and exponent of a scale, as the runtimes take it apart."""
    if scale == 0.0 or not math.isfinite(scale):
        return 0, 0
    mantissa, exponent = math.frexp(scale)
    mul = _round_away(mantissa * 2.0**SCALE_BITS)
    if mul == 1 << SCALE_BITS:
        mul, exponent = mul // 2, exponent + 1
    if exponent < LEAST_EXPONENT:
        return 0, 0
    return (mul, exponent) if exponent <= 30 else ((1 << SCALE_BITS) - 1, 30)


def _round_away(value: float) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def factors(scales: Array | float, rounding: Rounding) -> tuple[Array, Array | None]:
    """The operands `mul` and `add` of a requantisation by these scales: multipliers and exponents, or floats' bits."""
    flat = np.atleast_1d(np.asarray(scales, np.float64))
    if rounding == Rounding.FLOAT:
        return flat.astype(np.float32).view(np.int32), None
    pairs = [multiplier(float(scale)) for scale in flat]
    return np.array([mul for mul, _ in pairs], np.int32), np.array([exponent for _, exponent in pairs], np.int32)

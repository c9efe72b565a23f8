"""exp, 1 / (1 + x), logistic and tanh of 32-bit fixed-point numbers, to the bit as TensorFlow Lite's kernels have them.

A number with n integer bits stands for raw / 2**(31 - n). Arrays of int64 hold raw values of 32 bits.
"""

from __future__ import annotations

import numpy as np

from tilewright.ir.tflite_rounding import divided_by_power, high_product
from tilewright.ir.types import Array

LOW, HIGH = -(2**31), 2**31 - 1
QUARTER = -2
"""The exponent of the step that exp is taken apart in."""
EXP_EIGHTH, THIRD = 1895147668, 715827883
"""exp(-1 / 8) and 1 / 3 with no integer bits."""
POWERS = {-2: 1672461947, -1: 1302514674, 0: 790015084, 1: 290630308, 2: 39332535, 3: 720401, 4: 242}
"""exp(-2**n) for each n."""
ONE_OF_TWO = 1 << 29
"""1 with two integer bits."""
SLOPE, OFFSET = -1010580540, 1515870810
"""-32 / 17 and 48 / 17 with two integer bits: the first guess at a reciprocal."""
ONE_AND_A_HALF, HALF_ROOT_OF_TWO = 3 << 27, 1518500250
"""With three integer bits, and with none."""


def raised(value: Array, power: int) -> Array:
    """value * 2**power in 32 bits, saturating; a negative power rounds ties away from zero."""
    if power < 0:
        return divided_by_power(value, -power)
    return np.clip(value << power, LOW, HIGH)


def exp_negative(value: Array, integer_bits: int) -> Array:
    """exp of numbers up to 0, with no integer bits."""
    fraction = 31 - integer_bits
    quarter = 1 << (fraction + QUARTER)
    part = (value & (quarter - 1)) - quarter
    result = _exp_last_quarter(raised(part, integer_bits))
    rest = part - value
    for exponent, factor in POWERS.items():
        if integer_bits > exponent:
            result = np.where(rest & (1 << (fraction + exponent)), high_product(result, factor), result)
    return np.where(value == 0, HIGH, result)


def _exp_last_quarter(value: Array) -> Array:
    """From -1/4 to 0, by four terms around -1/8."""
    x = value + (1 << 28)
    square = high_product(x, x)
    cube, fourth = high_product(square, x), high_product(square, square)
    tail = divided_by_power(high_product(divided_by_power(fourth, 2) + cube, THIRD) + square, 1)
    return np.clip(EXP_EIGHTH + high_product(np.asarray(x + tail), EXP_EIGHTH), LOW, HIGH)


def _reciprocal_guess(value: Array) -> Array:
    """2 / (1 + x) for x from 0 to 1, with two integer bits: three steps of Newton and Raphson."""
    total = value + HIGH
    half = (total + 1) // 2
    x = OFFSET + high_product(half, SLOPE)
    for _ in range(3):
        error = ONE_OF_TWO - high_product(half, x)
        x = x + raised(high_product(x, error), 2)
    return x


def one_over_one_plus(value: Array) -> Array:
    return raised(_reciprocal_guess(value), 1)


def one_minus_over_one_plus(value: Array) -> Array:
    return raised(_reciprocal_guess(value) - ONE_OF_TWO, 2)


def logistic(value: Array, integer_bits: int) -> Array:
    positive = one_over_one_plus(exp_negative(-np.abs(value), integer_bits))
    return np.where(value == 0, 1 << 30, np.where(value > 0, positive, HIGH - positive))


def tanh(value: Array, integer_bits: int) -> Array:
    """The exponential of twice the value: the same bits with one integer bit more."""
    positive = one_minus_over_one_plus(exp_negative(-np.abs(value), integer_bits + 1))
    return np.where(value == 0, 0, np.where(value < 0, -positive, positive))


def inverse_square_root(value: int) -> tuple[int, int]:
    """1 / sqrt of a number from 1 on, as a multiplier and an exponent: five steps of Newton's, three integer bits."""
    if value == 1:
        return HIGH, 0
    pairs = (31 - value.bit_length()) // 2 - 1
    given = np.asarray(value << (2 * pairs) >> 1)
    x, half = np.asarray(1 << 28), divided_by_power(given, 1)
    for _ in range(5):
        cube = raised(high_product(high_product(x, x), x), 6)
        x = raised(high_product(x, ONE_AND_A_HALF) - high_product(half, cube), 3)
    return int(high_product(x, HALF_ROOT_OF_TWO)), pairs - 11


def input_radius(integer_bits: int, left_shift: int) -> int:
    """The largest number that a shift by so many bits leaves inside 32 bits."""
    return int(((1 << integer_bits) - 1) * (1 << (31 - integer_bits)) / 2.0**left_shift)

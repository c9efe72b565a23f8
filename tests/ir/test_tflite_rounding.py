"""TensorFlow Lite's scaling, against its definition on integers of any length."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from tilewright.ir.requant import Requant
from tilewright.ir.tflite_rounding import factors, multiplier, scaled


def up(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def away(value: Fraction) -> int:
    return up(value) if value >= 0 else -up(-value)


def expected(total: int, mul: int, exponent: int, rounding: str) -> int:
    if rounding == "single":
        return up(Fraction(total * mul) * Fraction(2) ** (exponent - 31))
    high = up(Fraction(total * 2 ** max(exponent, 0) * mul, 2**31))
    return (up if rounding == "double_up" else away)(Fraction(high, 2 ** max(-exponent, 0)))


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("rounding", ["double", "double_up", "single"])
def test_scaling(rounding: str) -> None:
    rng = random.Random(1)
    for _ in range(3000):
        mul, exponent = rng.randrange(2**30, 2**31), rng.randint(-31, 3)
        total = rng.randint(-(2**27), 2**27) >> rng.randint(0, 26)
        found = scaled(np.array([total]), np.array([mul]), np.array([exponent]), rounding)
        assert int(found[0]) == expected(total, mul, exponent, rounding), (total, mul, exponent)


def test_ties_tell_the_roundings_apart() -> None:
    """5 * 1/2 = 2.5 is 3 in 32 bits; 3 / 2 is a tie. Once rounded, 1.25 is 1."""
    mul, exponent = np.array([2**30]), np.array([-1])
    found = {
        name: scaled(np.array([5, -6]), mul, exponent, name).tolist() for name in ("double", "double_up", "single")
    }
    assert found == {"double": [2, -2], "double_up": [2, -1], "single": [1, -1]}


def test_floats_round_to_even() -> None:
    mul, add = factors(0.5, "float")
    assert add is None
    assert Requant(0, "int8", -128, 127, 3, "float")(np.array([1, 3, 5, -1, 999]), mul).tolist() == [3, 5, 5, 3, 127]


def test_multipliers() -> None:
    assert multiplier(0.5) == (2**30, 0)
    assert multiplier(1.0) == (2**30, 1)
    assert multiplier(0.0) == multiplier(1e-20) == (0, 0)
    assert multiplier(1.0 - 2.0**-40) == (2**30, 1)
    assert multiplier(3e20) == (2**31 - 1, 30)

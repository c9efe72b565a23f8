"""How a quotient, or the product of a total and a scale, is rounded to an integer."""

from __future__ import annotations

from enum import Enum


class Rounding(str, Enum):
    """In the order of the numbers that stand for them in C (requant_data.h)."""

    HALF_UP = "half_up"
    """Add half, then shift: ties toward plus infinity."""
    HALF_EVEN = "half_even"
    """Ties to the even neighbour."""
    HALF_AWAY = "half_away"
    """Ties away from zero."""
    NATIVE = "native"
    """HALF_UP, where no total leaves 32 bits on the way, zero point included."""
    DOUBLE = "double"
    """Twice: the product to 32 bits (ties up), then by the power of two (ties away from zero)."""
    DOUBLE_UP = "double_up"
    """Twice, ties up both times."""
    SINGLE = "single"
    """Once, ties up."""
    FLOAT = "float"
    """float32(total) * scale, ties to the even neighbour; the multiplier holds the scale's bits."""

    def __str__(self) -> str:
        return self.value

    @property
    def number(self) -> int:
        """What stands for it in C."""
        return _NUMBERS[self]


_NUMBERS = {rounding: number for number, rounding in enumerate(Rounding)}

UP = frozenset({Rounding.HALF_UP, Rounding.NATIVE})
"""One quotient, ties up."""
EVEN_OR_AWAY = frozenset({Rounding.HALF_EVEN, Rounding.HALF_AWAY})
"""Of exact means, whose ties are many."""
UP_OR_EVEN = UP | {Rounding.HALF_EVEN}
PLAIN = UP_OR_EVEN | {Rounding.HALF_AWAY}
"""Quotients by one power of two."""
SCALED = frozenset({Rounding.DOUBLE, Rounding.DOUBLE_UP, Rounding.SINGLE, Rounding.FLOAT})
"""TensorFlow Lite's: products with a scale that has a power of two for each channel (`tflite_rounding.py`)."""
ALL = PLAIN | SCALED
NOT_AWAY = ALL - {Rounding.HALF_AWAY}
"""All but what only means and resized images have."""


def names(roundings: frozenset[Rounding]) -> str:
    return ", ".join(rounding for rounding in Rounding if rounding in roundings)

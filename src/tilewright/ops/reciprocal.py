from __future__ import annotations

from dataclasses import dataclass

from tilewright.ops._elementwise import FloatUnary
from tilewright.types import Array


@dataclass(frozen=True)
class Reciprocal(FloatUnary):
    """1 / x."""

    def function(self, x: Array) -> Array:
        return 1.0 / x

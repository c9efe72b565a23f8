from __future__ import annotations

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Reciprocal(FloatUnary):
    """1 / x."""

    def function(self, x: Array) -> Array:
        return 1.0 / x

    def slope(self, x: Value, y: Value) -> Value:
        return -y.squared()

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Sqrt(FloatUnary):
    """The square root of x; NaN below zero."""

    def function(self, x: Array) -> Array:
        return np.sqrt(x)

    def slope(self, x: Value, y: Value) -> Value:
        return 0.5 / y

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class LeakyRelu(FloatUnary):
    """x, or alpha * x where x is negative."""

    alpha: float = 0.01

    def function(self, x: Array) -> Array:
        return np.where(x < 0, self.alpha * x, x)

    def slope(self, x: Value, y: Value) -> Value:
        return (x > 0.0).where(x.constant(1.0), self.alpha)

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Selu(FloatUnary):
    """gamma * (x, or alpha * (e^x - 1) where x is negative)."""

    alpha: float = 1.67326319217681884765625
    gamma: float = 1.05070102214813232421875

    def function(self, x: Array) -> Array:
        return self.gamma * np.where(x < 0, self.alpha * np.expm1(x), x)

    def slope(self, x: Value, y: Value) -> Value:
        return (x < 0.0).where(y + self.gamma * self.alpha, self.gamma)

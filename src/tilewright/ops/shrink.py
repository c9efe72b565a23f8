from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Shrink(FloatUnary):
    """x + bias below -lambd, x - bias above lambd, 0 between."""

    lambd: float = 0.5
    bias: float = 0.0

    def function(self, x: Array) -> Array:
        return np.where(x < -self.lambd, x + self.bias, np.where(x > self.lambd, x - self.bias, 0.0))

    def slope(self, x: Value, y: Value) -> Value:
        return (x.apply("Abs") > self.lambd).where(x.constant(1.0), 0.0)

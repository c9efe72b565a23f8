from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class ThresholdedRelu(FloatUnary):
    """x where it is above alpha, else 0."""

    alpha: float = 1.0

    def function(self, x: Array) -> Array:
        return np.where(x > self.alpha, x, 0.0)

    def slope(self, x: Value, y: Value) -> Value:
        return (x > self.alpha).where(x.constant(1.0), 0.0)

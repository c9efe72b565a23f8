from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Swish(FloatUnary):
    """x * sigmoid(alpha * x)."""

    alpha: float = 1.0

    def function(self, x: Array) -> Array:
        return x / (1.0 + np.exp(-self.alpha * x))

    def slope(self, x: Value, y: Value) -> Value:
        share = (x * self.alpha).sigmoid()
        return share + y * (1.0 - share) * self.alpha

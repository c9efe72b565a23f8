from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class HardSigmoid(FloatUnary):
    """clamp(alpha * x + beta, 0, 1)."""

    alpha: float = 0.2
    beta: float = 0.5

    def function(self, x: Array) -> Array:
        return np.clip(self.alpha * x + self.beta, 0.0, 1.0)

    def slope(self, x: Value, y: Value) -> Value:
        return (y > 0.0).both(y < 1.0).where(x.constant(self.alpha), 0.0)

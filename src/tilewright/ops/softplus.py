from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Softplus(FloatUnary):
    """log(1 + e^x)."""

    def function(self, x: Array) -> Array:
        return np.logaddexp(0.0, x)

    def slope(self, x: Value, y: Value) -> Value:
        return x.sigmoid()

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Mish(FloatUnary):
    """x * tanh(log(1 + e^x))."""

    def function(self, x: Array) -> Array:
        return x * np.tanh(np.logaddexp(0.0, x))

    def slope(self, x: Value, y: Value) -> Value:
        inner = x.apply("Softplus").tanh()
        return inner + x * x.sigmoid() * (1.0 - inner.squared())

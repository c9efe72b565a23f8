from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Softsign(FloatUnary):
    """x / (1 + |x|)."""

    def function(self, x: Array) -> Array:
        return x / (1.0 + np.abs(x))

    def slope(self, x: Value, y: Value) -> Value:
        return 1.0 / (x.apply("Abs") + 1.0).squared()

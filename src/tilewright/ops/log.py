from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Log(FloatUnary):
    """The natural logarithm of x."""

    def function(self, x: Array) -> Array:
        return np.log(x)

    def slope(self, x: Value, y: Value) -> Value:
        return 1.0 / x

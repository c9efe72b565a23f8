from __future__ import annotations

import math

import numpy as np

from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass

erf = np.vectorize(math.erf, otypes=[np.float64])
"""The error function of each element; numpy has none."""


@dataclass(frozen=True)
class Erf(FloatUnary):
    """erf(x), the error function."""

    def function(self, x: Array) -> Array:
        return erf(x)

    def slope(self, x: Value, y: Value) -> Value:
        return (-x.squared()).exp() * (2.0 / math.sqrt(math.pi))

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tilewright.ops._elementwise import FloatUnary
from tilewright.types import Array

erf = np.vectorize(math.erf, otypes=[np.float64])
"""The error function of each element; numpy has none."""


@dataclass(frozen=True)
class Erf(FloatUnary):
    """erf(x), the error function."""

    def function(self, x: Array) -> Array:
        return erf(x)

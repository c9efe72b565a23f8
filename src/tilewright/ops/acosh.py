from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ir.types import Array
from tilewright.ops._elementwise import FloatUnary


@dataclass(frozen=True)
class Acosh(FloatUnary):
    """acosh(x)."""

    def function(self, x: Array) -> Array:
        return np.arccosh(x)

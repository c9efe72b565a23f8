from __future__ import annotations

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ops._elementwise import FloatUnary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Floor(FloatUnary):
    """The largest integer that is not above x."""

    def function(self, x: Array) -> Array:
        return np.floor(x)

    def gradients(self, at: Adjoint) -> Gradients:
        return {}

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.ir.op import Params
from tilewright.ir.types import Array, TensorType
from tilewright.ops._elementwise import FloatUnary, Unary


@dataclass(frozen=True)
class Shrink(FloatUnary):
    """x + bias below -lambd, x - bias above lambd, 0 between."""

    lambd: float = 0.5
    bias: float = 0.0

    def function(self, x: Array) -> Array:
        return np.where(x < -self.lambd, x + self.bias, np.where(x > self.lambd, x - self.bias, 0.0))

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {**Unary.params(self, types), "alpha": self.lambd, "beta": self.bias}

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.ir.op import Params
from tilewright.ir.types import Array, TensorType
from tilewright.ops._elementwise import FloatUnary, Unary


@dataclass(frozen=True)
class Selu(FloatUnary):
    """gamma * (x, or alpha * (e^x - 1) where x is negative)."""

    alpha: float = 1.67326319217681884765625
    gamma: float = 1.05070102214813232421875

    def function(self, x: Array) -> Array:
        return self.gamma * np.where(x < 0, self.alpha * np.expm1(x), x)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {**Unary.params(self, types), "alpha": self.alpha, "beta": self.gamma}

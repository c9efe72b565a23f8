from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array, TensorType
from tilewright.ops._elementwise import FloatUnary
from tilewright.ops.erf import erf
from tilewright.records import dataclass


@dataclass(frozen=True)
class Gelu(FloatUnary):
    """x / 2 * (1 + erf(x / sqrt(2))), or its approximation with tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)) for erf."""

    approximate: str = "none"

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if self.approximate not in ("none", "tanh"):
            raise Refusal(f"approximate={self.approximate!r} is unknown", "use none or tanh")

    def function(self, x: Array) -> Array:
        if self.approximate == "tanh":
            return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
        return 0.5 * x * (1.0 + erf(x / np.sqrt(2.0)))

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": at.gradient.apply("GeluGrad", at["X"], approximate=self.approximate)}

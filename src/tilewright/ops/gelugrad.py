from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array, TensorType
from tilewright.ops._elementwise import FLOATS, Binary
from tilewright.ops.erf import erf
from tilewright.records import dataclass


@dataclass(frozen=True)
class GeluGrad(Binary):
    """a times the slope of Gelu at b: a is the gradient of a Gelu's result, b its operand."""

    accepts: ClassVar[frozenset[str] | None] = FLOATS
    approximate: str = "none"

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if self.approximate not in ("none", "tanh"):
            raise Refusal(f"approximate={self.approximate!r} is unknown", "use none or tanh")

    def numpy(self, A: Array, B: Array) -> Array:
        return np.asarray(A.astype(np.float64) * self._slope(B.astype(np.float64))).astype(np.float32)

    def _slope(self, x: Array) -> Array:
        if self.approximate == "none":
            return 0.5 * (1.0 + erf(x / np.sqrt(2.0))) + x * np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
        root = np.sqrt(2.0 / np.pi)
        curve = np.tanh(root * (x + 0.044715 * x**3))
        return 0.5 * (1.0 + curve) + 0.5 * x * (1.0 - curve * curve) * root * (1.0 + 3 * 0.044715 * x * x)

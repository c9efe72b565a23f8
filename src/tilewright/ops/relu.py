from __future__ import annotations

from typing import ClassVar

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ops._elementwise import NUMBERS, Unary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Relu(Unary):
    """max(x, 0); NaN stays NaN."""

    accepts: ClassVar[frozenset[str] | None] = NUMBERS

    def numpy(self, X: Array) -> Array:
        return np.maximum(X, X.dtype.type(0))

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": at.gradient.apply("ReluGrad", at.y)}

from __future__ import annotations

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ops._reduction import Sum
from tilewright.records import dataclass


@dataclass(frozen=True)
class ReduceL1(Sum):
    """The sum of absolute values."""

    def each(self, X: Array) -> Array:
        return np.abs(X)

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": self.kept(at, at.gradient) * at["X"].sign()}

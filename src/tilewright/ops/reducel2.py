from __future__ import annotations

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array, Shapes
from tilewright.ops._reduction import FloatSum
from tilewright.records import dataclass


@dataclass(frozen=True)
class ReduceL2(FloatSum):
    """The square root of the sum of squares."""

    def each(self, X: Array) -> Array:
        return X * X

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return np.sqrt(total).astype(X.dtype)

    def gradients(self, at: Adjoint) -> Gradients:
        norm = self.kept(at, at.y)
        return {"X": self.kept(at, at.gradient) * (norm > 0.0).where(at["X"] / norm, 0.0)}

from __future__ import annotations

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array, Shapes
from tilewright.ops._reduction import FloatSum
from tilewright.records import dataclass


@dataclass(frozen=True)
class ReduceLogSum(FloatSum):
    """The logarithm of the sum."""

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return np.log(total).astype(X.dtype)

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": self.kept(at, at.gradient * (-at.y).exp()).expand(at["X"].shape)}

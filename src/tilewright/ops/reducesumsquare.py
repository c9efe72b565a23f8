from __future__ import annotations

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ops._reduction import Sum
from tilewright.records import dataclass


@dataclass(frozen=True)
class ReduceSumSquare(Sum):
    """The sum of squares."""

    def each(self, X: Array) -> Array:
        return X * X

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": self.kept(at, at.gradient) * (at["X"] * 2.0)}

from __future__ import annotations

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ops._reduction import FloatSum
from tilewright.records import dataclass


@dataclass(frozen=True)
class ReduceLogSumExp(FloatSum):
    """The logarithm of the sum of exponentials."""

    def accumulate(self, X: Array) -> Array:
        wide = X.astype(np.float64)
        top = np.max(wide, axis=self.axes, keepdims=True, initial=-np.inf)
        # An infinite maximum is the result by itself: infinity minus infinity would not be a number.
        shift = np.where(np.isfinite(top), top, 0.0)
        total: Array = np.log(np.exp(wide - shift).sum(axis=self.axes, keepdims=True)) + shift
        return total if self.keepdims else np.squeeze(total, self.axes)

    def combine(self, left: Array, right: Array) -> Array:
        return np.logaddexp(left, right)

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": self.kept(at, at.gradient) * (at["X"] - self.kept(at, at.y)).exp()}

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ir.value import Value
from tilewright.ops.cumsum import CumSum
from tilewright.records import dataclass


@dataclass(frozen=True)
class CumProd(CumSum):
    """Running products along an axis, from the end if `reverse`, without the element itself if `exclusive`."""

    nothing: ClassVar[int] = 1

    def accumulated(self, X: Array) -> Array:
        return np.cumprod(X, self.axis, dtype=X.dtype)

    def gradients(self, at: Adjoint) -> Gradients:
        """Products without an element, rather than quotients by it: it may be zero. With p the product before element
        i, the gradient is p * total[i], where total[i] = g[i] + x[i + 1] * total[i + 1]; if `exclusive`, g[i + 1]
        stands there instead of g[i]."""
        behind = at["X"].apply("CumProd", axis=self.axis, exclusive=True, reverse=self.reverse)
        factors = self._next(at["X"], 1)
        totals = self._next(at.gradient, 1) if self.exclusive else at.gradient
        step, size = 1, at["X"].shape[self.axis]
        while step < size:
            totals = totals + factors * self._next(totals, step)
            step, factors = 2 * step, factors * self._next(factors, step)
        return {"X": behind * totals}

    def _next(self, value: Value, step: int) -> Value:
        """Elements shifted by this number of positions in the order of the products, zeros after the last."""
        if step >= value.shape[self.axis]:
            return value.zeros(value.shape)
        ways = (step, -step) if self.reverse else (-step, step)
        return value.pad([ways if axis == self.axis else (0, 0) for axis in range(value.rank)])

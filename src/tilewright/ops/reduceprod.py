from __future__ import annotations

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array, Shapes
from tilewright.ops._reduction import Reduction, wide_type
from tilewright.records import dataclass


@dataclass(frozen=True)
class ReduceProd(Reduction):
    """The product."""

    def accumulate(self, X: Array) -> Array:
        return np.asarray(np.prod(X, axis=self.axes, keepdims=self.keepdims, dtype=wide_type(X)))

    def combine(self, left: Array, right: Array) -> Array:
        return np.asarray(np.multiply(left, right))

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return total.astype(X.dtype)

    def gradients(self, at: Adjoint) -> Gradients:
        kept = [axis for axis in range(at["X"].rank) if axis not in self.axes]
        order = [*kept, *self.axes]
        moved = at["X"].transpose(order)
        rows = moved.reshape((*moved.shape[: len(kept)], self.count(at.shapes)))
        before = rows.apply("CumProd", axis=len(kept), exclusive=True)
        others = before * rows.apply("CumProd", axis=len(kept), exclusive=True, reverse=True)
        back = [order.index(axis) for axis in range(len(order))]
        return {"X": self.kept(at, at.gradient) * others.reshape(moved.shape).transpose(back)}

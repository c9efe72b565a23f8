from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ir.types import Array, Shapes
from tilewright.ops._reduction import Reduction, wide_type


@dataclass(frozen=True)
class ReduceProd(Reduction):
    """The product."""

    def accumulate(self, X: Array) -> Array:
        return np.asarray(np.prod(X, axis=self.axes, keepdims=self.keepdims, dtype=wide_type(X)))

    def combine(self, left: Array, right: Array) -> Array:
        return np.asarray(np.multiply(left, right))

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return total.astype(X.dtype)

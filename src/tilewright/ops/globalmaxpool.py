from __future__ import annotations

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops._global_pool import GlobalPool, spatial_axes
from tilewright.records import dataclass


@dataclass(frozen=True)
class GlobalMaxPool(GlobalPool):
    """The largest element over all spatial axes."""

    accepts = NUMBERS

    def accumulate(self, X: Array) -> Array:
        return np.asarray(X.max(axis=spatial_axes(X.shape), keepdims=True))

    def combine(self, left: Array, right: Array) -> Array:
        return np.maximum(left, right)

    def gradients(self, at: Adjoint) -> Gradients:
        x, axes = at["X"], range(2, at["X"].rank)
        is_largest = x.equals(at.y).cast("float32")
        return {"X": at.gradient * (is_largest / is_largest.sum(axes))}

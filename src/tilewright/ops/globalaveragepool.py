from __future__ import annotations

import math

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.exchange import exchanged
from tilewright.ir.types import Array, Shapes
from tilewright.ops._elementwise import FLOATS
from tilewright.ops._global_pool import GlobalPool, spatial_axes
from tilewright.records import dataclass


@dataclass(frozen=True)
class GlobalAveragePool(GlobalPool):
    """The mean over all spatial axes."""

    accepts = FLOATS

    def accumulate(self, X: Array) -> Array:
        return np.asarray(X.sum(axis=spatial_axes(X.shape), keepdims=True, dtype=np.float32))

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return total / np.float32(math.prod(shapes["X"][2:]))

    def gradients(self, at: Adjoint) -> Gradients:
        inner = math.prod(at["X"].shape[2:])
        return {"X": exchanged(self, at, "X") / inner}

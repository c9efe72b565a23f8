from __future__ import annotations

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ops._normalisation import RowNormalisation
from tilewright.records import dataclass


@dataclass(frozen=True)
class RMSNormalization(RowNormalisation):
    """x / sqrt(mean(x * x) + epsilon) * scale over the axes from `axis` on."""

    def numpy(self, X: Array, scale: Array | None = None) -> Array:
        axes = tuple(range(self.axis % X.ndim, X.ndim))
        wide = X.astype(np.float64)
        result = wide / np.sqrt((wide * wide).mean(axis=axes, keepdims=True) + self.epsilon)
        return np.asarray(result if scale is None else result * scale, np.float32)

    def gradients(self, at: Adjoint) -> Gradients:
        x, axes = at["X"], self.row_axes(at["X"].rank)
        inverse = 1.0 / (x.squared().mean(axes) + self.epsilon).sqrt()
        normal = x * inverse
        scaled = at.gradient * at["scale"] if "scale" in at else at.gradient
        return {"X": inverse * (scaled - normal * (scaled * normal).mean(axes)), "scale": at.gradient * normal}

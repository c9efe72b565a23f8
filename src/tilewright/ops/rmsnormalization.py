from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ir.types import Array
from tilewright.ops._normalisation import RowNormalisation


@dataclass(frozen=True)
class RMSNormalization(RowNormalisation):
    """x / sqrt(mean(x * x) + epsilon) * scale over the axes from `axis` on."""

    def numpy(self, X: Array, scale: Array | None = None) -> Array:
        axes = tuple(range(self.axis % X.ndim, X.ndim))
        wide = X.astype(np.float64)
        result = wide / np.sqrt((wide * wide).mean(axis=axes, keepdims=True) + self.epsilon)
        return np.asarray(result if scale is None else result * scale, np.float32)

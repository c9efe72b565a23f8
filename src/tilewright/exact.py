"""Integer matrix products through floating-point BLAS where that is exact (it is far faster in numpy)."""

from __future__ import annotations

import numpy as np

from tilewright.types import Array


def exact_matmul(left: Array, right: Array) -> Array:
    """left @ right; integers give int32 (with wrap-around), floats stay float32."""
    if left.dtype == np.float32 or left.size == 0 or right.size == 0:
        return np.matmul(left, right)
    bound = float(np.abs(left.astype(np.float64)).max()) * float(np.abs(right.astype(np.float64)).max())
    if bound * left.shape[-1] < 2.0**53:
        return np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64).astype(np.int32)
    return np.matmul(left.astype(np.int64), right.astype(np.int64)).astype(np.int32)

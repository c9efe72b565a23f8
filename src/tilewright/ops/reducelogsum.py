from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ir.types import Array, Shapes
from tilewright.ops._reduction import FloatSum


@dataclass(frozen=True)
class ReduceLogSum(FloatSum):
    """The logarithm of the sum."""

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return np.log(total).astype(X.dtype)

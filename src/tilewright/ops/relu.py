from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ops._elementwise import NUMBERS, Unary
from tilewright.types import Array


@dataclass(frozen=True)
class Relu(Unary):
    """max(x, 0)."""

    accepts = NUMBERS

    def numpy(self, X: Array) -> Array:
        return np.maximum(X, X.dtype.type(0))

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.ops._extreme import Extreme
from tilewright.records import dataclass


@dataclass(frozen=True)
class ArgMin(Extreme):
    """Where the smallest element along an axis is."""

    def find(self, X: Array) -> Array:
        return np.asarray(np.argmin(X, axis=self.axis))

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ops._elementwise import FloatUnary
from tilewright.types import Array


@dataclass(frozen=True)
class HardSwish(FloatUnary):
    """x * clamp(x / 6 + 1 / 2, 0, 1)."""

    def function(self, x: Array) -> Array:
        return x * np.clip(x / 6.0 + 0.5, 0.0, 1.0)

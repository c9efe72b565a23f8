from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ops.cumsum import CumSum


@dataclass(frozen=True)
class CumProd(CumSum):
    """Running products along an axis, from the end if `reverse`, without the element itself if `exclusive`."""

    nothing: ClassVar[int] = 1

    def accumulated(self, X: Array) -> Array:
        return np.cumprod(X, self.axis, dtype=X.dtype)

    def gradients(self, at: Adjoint) -> Gradients:
        backward = not self.reverse
        sums = (at.gradient * at.y).apply("CumSum", axis=self.axis, exclusive=self.exclusive, reverse=backward)
        return {"X": sums / at["X"]}

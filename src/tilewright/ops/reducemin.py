from __future__ import annotations

from typing import ClassVar

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array, Shapes
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops._reduction import Reduction, highest
from tilewright.records import dataclass


@dataclass(frozen=True)
class ReduceMin(Reduction):
    """The smallest element; NaN if there is one."""

    accepts: ClassVar[frozenset[str]] = NUMBERS | {"bool"}

    def accumulate(self, X: Array) -> Array:
        return np.asarray(np.min(X, axis=self.axes, keepdims=self.keepdims, initial=highest(X.dtype)))

    def combine(self, left: Array, right: Array) -> Array:
        return np.minimum(left, right)

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return np.asarray(total, X.dtype)

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": self.by_extremes(at)}

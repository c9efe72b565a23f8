from __future__ import annotations

from typing import ClassVar

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ops._elementwise import NUMBERS, Unary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Sign(Unary):
    """1, 0 or -1, as x is above, at or below zero; NaN stays NaN."""

    accepts: ClassVar[frozenset[str] | None] = NUMBERS

    def numpy(self, X: Array) -> Array:
        return np.sign(X)

    def gradients(self, at: Adjoint) -> Gradients:
        return {}

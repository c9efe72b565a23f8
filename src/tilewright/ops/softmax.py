from __future__ import annotations

from typing import ClassVar

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ops._softmax import SoftmaxLike
from tilewright.records import dataclass


@dataclass(frozen=True)
class Softmax(SoftmaxLike):
    """exp(x) / sum of exp(x) along an axis."""

    logarithm: ClassVar[bool] = False

    def gradients(self, at: Adjoint) -> Gradients:
        weighted = at.gradient * at.y
        return {"X": weighted - at.y * weighted.sum([self.axis])}

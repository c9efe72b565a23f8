from __future__ import annotations

from typing import ClassVar

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ops._softmax import SoftmaxLike
from tilewright.records import dataclass


@dataclass(frozen=True)
class LogSoftmax(SoftmaxLike):
    """x - log(sum of exp(x)) along an axis."""

    logarithm: ClassVar[bool] = True

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": at.gradient - at.y.exp() * at.gradient.sum([self.axis])}

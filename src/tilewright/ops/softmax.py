from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilewright.ops._softmax import SoftmaxLike


@dataclass(frozen=True)
class Softmax(SoftmaxLike):
    """exp(x) / sum of exp(x) along an axis."""

    logarithm: ClassVar[bool] = False

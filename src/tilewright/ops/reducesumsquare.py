from __future__ import annotations

from dataclasses import dataclass

from tilewright.ops._reduction import Sum
from tilewright.types import Array


@dataclass(frozen=True)
class ReduceSumSquare(Sum):
    """The sum of squares."""

    def each(self, X: Array) -> Array:
        return X * X

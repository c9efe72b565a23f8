from __future__ import annotations

from tilewright.ir.types import Array
from tilewright.ops._elementwise import Comparison
from tilewright.records import dataclass


@dataclass(frozen=True)
class LessOrEqual(Comparison):
    """a <= b."""

    def numpy(self, A: Array, B: Array) -> Array:
        return A <= B

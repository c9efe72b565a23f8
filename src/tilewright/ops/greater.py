from __future__ import annotations

from dataclasses import dataclass

from tilewright.ir.types import Array
from tilewright.ops._elementwise import Comparison


@dataclass(frozen=True)
class Greater(Comparison):
    """a > b."""

    def numpy(self, A: Array, B: Array) -> Array:
        return A > B

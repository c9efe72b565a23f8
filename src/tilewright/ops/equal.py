from __future__ import annotations

from typing import ClassVar

from tilewright.ir.types import Array
from tilewright.ops._elementwise import BOOLS, NUMBERS, Comparison
from tilewright.records import dataclass


@dataclass(frozen=True)
class Equal(Comparison):
    """a == b; truth values can be compared, too."""

    accepts: ClassVar[frozenset[str] | None] = NUMBERS | BOOLS

    def numpy(self, A: Array, B: Array) -> Array:
        return A == B

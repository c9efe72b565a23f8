from __future__ import annotations

from typing import ClassVar

from tilewright.ir.types import Array
from tilewright.ops._elementwise import BOOLS, Unary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Not(Unary):
    """not x."""

    accepts: ClassVar[frozenset[str] | None] = BOOLS

    def numpy(self, X: Array) -> Array:
        return ~X

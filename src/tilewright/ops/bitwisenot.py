from __future__ import annotations

from typing import ClassVar

from tilewright.ir.types import Array
from tilewright.ops._elementwise import INTEGERS, Unary
from tilewright.records import dataclass


@dataclass(frozen=True)
class BitwiseNot(Unary):
    """~x, bit by bit."""

    accepts: ClassVar[frozenset[str] | None] = INTEGERS

    def numpy(self, X: Array) -> Array:
        return ~X

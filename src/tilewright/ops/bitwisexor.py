from __future__ import annotations

from typing import ClassVar

from tilewright.ir.types import Array
from tilewright.ops._elementwise import INTEGERS, Binary
from tilewright.records import dataclass


@dataclass(frozen=True)
class BitwiseXor(Binary):
    """a ^ b, bit by bit."""

    accepts: ClassVar[frozenset[str] | None] = INTEGERS

    def numpy(self, A: Array, B: Array) -> Array:
        return A ^ B

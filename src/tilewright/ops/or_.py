from __future__ import annotations

from typing import ClassVar

from tilewright.ir.types import Array
from tilewright.ops._elementwise import BOOLS, Binary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Or(Binary):
    """a or b."""

    accepts: ClassVar[frozenset[str] | None] = BOOLS

    def numpy(self, A: Array, B: Array) -> Array:
        return A | B

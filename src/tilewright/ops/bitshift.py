from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array, TensorType
from tilewright.ops._elementwise import INTEGERS, Binary
from tilewright.records import dataclass


@dataclass(frozen=True)
class BitShift(Binary):
    """a << b or a >> b; where b is not between 0 and the width, only copies of the sign bit are left (or zeros)."""

    accepts: ClassVar[frozenset[str] | None] = INTEGERS
    direction: str = ""

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if self.direction not in ("LEFT", "RIGHT"):
            raise Refusal(f"direction {self.direction!r} is unknown", "use LEFT or RIGHT")

    def numpy(self, A: Array, B: Array) -> Array:
        return np.left_shift(A, B) if self.direction == "LEFT" else np.right_shift(A, B)

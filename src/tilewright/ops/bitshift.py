from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ops._elementwise import UNSIGNED, Binary
from tilewright.types import Array, TensorType


@dataclass(frozen=True)
class BitShift(Binary):
    """a << b or a >> b; all bits are gone where b is the width or more."""

    accepts: ClassVar[frozenset[str] | None] = UNSIGNED
    direction: str = ""

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if self.direction not in ("LEFT", "RIGHT"):
            raise Refusal(f"direction {self.direction!r} is unknown", "use LEFT or RIGHT")

    def numpy(self, A: Array, B: Array) -> Array:
        return np.left_shift(A, B) if self.direction == "LEFT" else np.right_shift(A, B)

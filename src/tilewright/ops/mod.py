from __future__ import annotations

from typing import ClassVar

import numpy as np

from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array
from tilewright.ops._elementwise import NUMBERS, Binary
from tilewright.records import dataclass


@dataclass(frozen=True)
class Mod(Binary):
    """The rest of a / b with the sign of b or, with `fmod`, of a; x mod 0 is 0 for integers."""

    accepts: ClassVar[frozenset[str] | None] = NUMBERS
    fmod: int = 0

    def numpy(self, A: Array, B: Array) -> Array:
        return np.fmod(A, B) if self.fmod else np.mod(A, B)

    def gradients(self, at: Adjoint) -> Gradients:
        found = {"A": at.gradient}
        if at.wants("B"):
            found["B"] = at.gradient * ((at.y - at["A"]) / at["B"])
        return found

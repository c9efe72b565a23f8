from __future__ import annotations

from typing import ClassVar

import numpy as np

from tilewright.ir.types import Array
from tilewright.ops._elementwise import FLOATS, Binary
from tilewright.records import dataclass


@dataclass(frozen=True)
class ReluGrad(Binary):
    """a where b is above 0, otherwise 0: a is the gradient of a Relu's result, b its operand or its result."""

    accepts: ClassVar[frozenset[str] | None] = FLOATS

    def numpy(self, A: Array, B: Array) -> Array:
        return np.where(B > 0, A, np.float32(0))

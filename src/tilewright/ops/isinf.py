from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.ir.types import Array
from tilewright.ops._elementwise import Unary
from tilewright.records import dataclass


@dataclass(frozen=True)
class IsInf(Unary):
    """Whether x is one of the infinities that are looked for."""

    detect_negative: int = 1
    detect_positive: int = 1

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("bool",)

    def numpy(self, X: Array) -> Array:
        return (np.isneginf(X) & bool(self.detect_negative)) | (np.isposinf(X) & bool(self.detect_positive))

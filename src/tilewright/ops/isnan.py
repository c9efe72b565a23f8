from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.ir.types import Array
from tilewright.ops._elementwise import Unary
from tilewright.records import dataclass


@dataclass(frozen=True)
class IsNaN(Unary):
    """Whether x is not a number."""

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("bool",)

    def numpy(self, X: Array) -> Array:
        return np.isnan(X)

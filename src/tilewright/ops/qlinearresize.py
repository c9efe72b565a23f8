from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.requant import NO_CHANGE, Requant, shift_right
from tilewright.ir.rounding import PLAIN, Rounding
from tilewright.ir.types import Array, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops._interpolation import Interpolation
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearResize(Internal, Interpolation):
    """Along one axis, output j is requant(sum over t of weight[j, t] * (X[taps[j, t]] - x_zero)), in 32 bits."""

    accepts: ClassVar[frozenset[str]] = frozenset({"int8", "uint8", "int16", "uint16"})
    roundings: ClassVar[frozenset[Rounding]] = PLAIN
    x_zero: int = 0
    requant: Requant = NO_CHANGE

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if types["X"].dtype not in self.accepts:
            raise Refusal(f"X is {types['X'].dtype}; supported: {', '.join(sorted(self.accepts))}")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, X: Array, taps: Array, weight: Array) -> Array:
        parts = np.moveaxis(X, self.axis, 0)[taps].astype(np.int64) - self.x_zero
        total = (parts * weight.reshape(*weight.shape, *(1,) * (X.ndim - 1))).sum(axis=1)
        value = shift_right(total, self.requant.shift, self.requant.rounding) + self.requant.zero_point
        narrow = np.clip(value, self.requant.low, self.requant.high).astype(self.requant.dtype)
        return np.ascontiguousarray(np.moveaxis(narrow, 0, self.axis))

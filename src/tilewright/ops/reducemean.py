from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.exchange import exchanged
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops._reduction import Sum
from tilewright.records import dataclass

TOWARD_ZERO, SHIFT, HALF_AWAY = range(3)
"""How an integer mean is rounded; the same numbers as in reducemean.c."""


@dataclass(frozen=True)
class ReduceMean(Sum):
    """The mean. Integers are truncated toward zero, or rounded as the integer dialect does if `integer`.

    With sum S and count L that is (S + L/2) >> log2(L) where L is a power of two and the axes are dropped, else
    (S +- L/2) / L truncated toward zero, + where S is positive.
    """

    accepts: ClassVar[frozenset[str]] = NUMBERS - {"uint64"}
    integer: bool = False

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if types["X"].dtype != "float32" and self.count({"X": types["X"].shape}) == 0:
            raise Refusal("an integer mean over no elements")

    def accumulate(self, X: Array) -> Array:
        total = X.sum(axis=self.axes, keepdims=self.keepdims, dtype="float64" if X.dtype == np.float32 else "int64")
        return np.asarray(total)

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        count = self.count(shapes)
        if X.dtype == np.float32:
            return np.asarray(total / np.float64(count), np.float32)
        return _divided(total, count, self.rounding(count)).astype(X.dtype)

    def rounding(self, count: int) -> int:
        if not self.integer:
            return TOWARD_ZERO
        return SHIFT if not self.keepdims and count & (count - 1) == 0 else HALF_AWAY

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": exchanged(self, at, "X") / self.count(at.shapes)}

    @classmethod
    def dialect(cls, node: OnnxNode) -> dict[str, Any]:
        return {"integer": node.integers}


def _divided(total: Array, count: int, rounding: int) -> Array:
    if rounding == SHIFT:
        return (total + (count >> 1)) >> (count.bit_length() - 1)
    if rounding == HALF_AWAY:
        total = total + np.where(total > 0, 1, -1) * (count >> 1)
    return np.asarray(np.sign(total) * (np.abs(total) // count))

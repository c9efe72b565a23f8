from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.requant import TIES_TO_EVEN, Requant
from tilewright.ir.rounding import EVEN_OR_AWAY, Rounding
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._qlinear import check_mean, expand_unary, mean
from tilewright.ops._reduction import Reduction
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearReduceMean(Reduction):
    """requant(sum(x - x_zero) * mul / count) over some axes, with `count` elements for each result."""

    accepts: ClassVar[frozenset[str]] = frozenset({"int8", "uint8", "int16", "uint16"})
    roundings: ClassVar[frozenset[Rounding]] = EVEN_OR_AWAY
    x_zero: int = 0
    mul: int = 1
    requant: Requant = TIES_TO_EVEN

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        count = self.count({"X": types["X"].shape})
        check_mean(types["X"].dtype, self.x_zero, count, self.mul, self.requant)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def accumulate(self, X: Array) -> Array:
        return np.asarray(np.sum(X.astype(np.int64) - self.x_zero, self.axes, keepdims=self.keepdims))

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return mean(total, np.asarray(self.count(shapes)), self.mul, self.requant)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return expand_unary(node, emit, "ReduceMean")

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.onnx_node import Emit, OnnxNode
from tilewright.op import Params
from tilewright.ops._qlinear import expand_unary, reach
from tilewright.ops._reduction import Reduction
from tilewright.requant import NO_CHANGE, Requant
from tilewright.types import Array, Shapes, TensorType


@dataclass(frozen=True)
class QLinearReduceMean(Reduction):
    """requant(sum(x - x_zero) * mul) over some axes; `mul` contains the division by the number of elements."""

    accepts: ClassVar[frozenset[str]] = frozenset({"int8", "uint8", "int16", "uint16"})
    x_zero: int = 0
    mul: int = 1
    requant: Requant = NO_CHANGE

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        kind, count = types["X"], self.count({"X": types["X"].shape})
        if count * reach(kind.dtype, self.x_zero) >= 2**31:
            raise Refusal(f"the sum of {count} elements of {kind.dtype} may overflow 32 bits")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def accumulate(self, X: Array) -> Array:
        return np.asarray(np.sum(X.astype(np.int64) - self.x_zero, self.axes, keepdims=self.keepdims))

    def finish(self, total: Array, shapes: Shapes, X: Array) -> Array:
        return self.requant(total, np.asarray(self.mul))

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return expand_unary(node, emit, "ReduceMean")

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return {
            "loops": super().params(types), "x_zero": self.x_zero, "mul": self.mul, "requant": self.requant.params(1)
        }  # fmt: skip

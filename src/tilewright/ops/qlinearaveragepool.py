from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.requant import TIES_TO_EVEN, Requant
from tilewright.ir.rounding import EVEN_OR_AWAY, Rounding
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._pool import Pool, read_pool
from tilewright.ops._qlinear import check_mean, expand_unary, mean, refuse_channels_last
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearAveragePool(Pool):
    """requant(sum(x - x_zero) * mul / count) over the elements of each window that are inside X, `count` of them."""

    accepts: ClassVar[frozenset[str]] = frozenset({"int8", "uint8", "int16", "uint16"})
    roundings: ClassVar[frozenset[Rounding]] = EVEN_OR_AWAY
    x_zero: int = 0
    mul: int = 1
    requant: Requant = TIES_TO_EVEN

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        # The number of elements inside X is known only for a whole window.
        return frozenset("rs"[-self.rank :])

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        check_mean(types["X"].dtype, self.x_zero, math.prod(self.kernel), self.mul, self.requant)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, X: Array) -> Array:
        total = self.patches(X.astype(np.int64) - self.x_zero, self.kernel).sum(-1)
        count = self.patches(np.ones(self.arranged(1, 1, self.spatial(X.shape)), np.int64), self.kernel).sum(-1)
        return self.stored(mean(total, count, self.mul, self.requant))

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        refuse_channels_last(node)
        if node.attribute("count_include_pad", 0) and any(read_pool(node)[-1]):
            raise Refusal(
                "ceil_mode with count_include_pad: it is open whether what lies behind the padding counts",
                "pad more, or use AveragePool between DequantizeLinear and QuantizeLinear",
            )
        return expand_unary(node, emit, "AveragePool")

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._dialect import IntegerRows, as_int32, check_levels, divide, int32, per_column, root, shift_of
from tilewright.records import dataclass


@dataclass(frozen=True)
class iLayerNorm(IntegerRows):  # noqa: N801
    """c = x - sum(x) / L, sigma = root(sum(c * c) / L + 1), y = (c * w / sigma + b) >> shift, wrapped to int8."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B")
    shift: int = 0

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int8",)

    def numpy(self, X: Array, W: Array, B: Array) -> Array:
        length = max(X.shape[-1], 1)
        centred = int32(X) - int32(divide(X.sum(-1, keepdims=True, dtype=np.int64), length))
        sigma = root(mean_square(centred) + np.uint64(1))
        return ((int32(divide(centred * int32(W), sigma)) + int32(B)) >> self.shift).astype(np.int8)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        check_levels(node)
        weights = [per_column(node, emit, 1, "weight"), per_column(node, emit, 2, "bias")]
        return emit(cls(shift_of(node, "D", 31)), [as_int32(node, emit, 0), *weights], node.outputs)


def mean_square(values: Array) -> Array:
    """The floor of the mean of the squares of each row."""
    squares = values.astype(np.int64) ** 2
    return squares.sum(-1, keepdims=True).astype(np.uint64) // np.uint64(max(values.shape[-1], 1))

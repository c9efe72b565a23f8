from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._dialect import IntegerRows, as_int32, check_levels, divide, int32, per_column, root, shift_of
from tilewright.ops.ilayernorm import mean_square
from tilewright.records import dataclass


@dataclass(frozen=True)
class iRMSNorm(IntegerRows):  # noqa: N801
    """y = (x * w / root(sum(x * x) / L + 1)) >> shift, clamped to int8."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W")
    shift: int = 0

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int8",)

    def numpy(self, X: Array, W: Array) -> Array:
        sigma = root(mean_square(X) + np.uint64(1))
        scaled = int32(divide(int32(X) * int32(W), sigma)) >> self.shift
        return np.clip(scaled, -128, 127).astype(np.int8)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        check_levels(node)
        weight = per_column(node, emit, 1, "weight")
        return emit(cls(shift_of(node, "D", 31)), [as_int32(node, emit, 0), weight], node.outputs)

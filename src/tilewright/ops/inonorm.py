from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._dialect import INTEGERS, as_int32, check_levels, int32, shift_of, whole_number
from tilewright.ops._elementwise import Elementwise
from tilewright.records import dataclass


@dataclass(frozen=True)
class iNoNorm(Elementwise):  # noqa: N801
    """y = ((x * w + b) * mul) >> shift, clamped to int8; w and b are broadcast."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B")
    accepts = INTEGERS
    mul: int = 1
    shift: int = 0

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int8",)

    def numpy(self, X: Array, W: Array, B: Array) -> Array:
        scaled = ((int32(X) * int32(W) + int32(B)) * np.int32(self.mul)) >> self.shift
        return np.clip(scaled, -128, 127).astype(np.int8)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        check_levels(node)
        op = cls(whole_number(node, "mul"), shift_of(node, "D", 31))
        return emit(op, [as_int32(node, emit, position) for position in range(3)], node.outputs)

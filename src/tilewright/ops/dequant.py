from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Array
from tilewright.ops._dialect import INTEGERS, as_int32, whole_number
from tilewright.ops._elementwise import Unary
from tilewright.ops.quant import scale_of
from tilewright.records import dataclass


@dataclass(frozen=True)
class Dequant(Unary):
    """(q - zero_point) * scale."""

    accepts = INTEGERS
    scale: float = 1.0
    zero_point: int = 0

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("float32",)

    def numpy(self, X: Array) -> Array:
        return (X.astype(np.int64) - self.zero_point).astype(np.float32) * np.float32(self.scale)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("bit_width", "signed")
        op = cls(scale_of(node), whole_number(node, "zero_point", 0))
        return emit(op, [as_int32(node, emit, 0)], node.outputs)

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.matmul import MatMul
from tilewright.ops.requantshift import expand_requantised
from tilewright.records import dataclass


@dataclass(frozen=True)
class RQMatMul(Op):
    """MatMul, then RequantShift: A, B, mul and add."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return expand_requantised(MatMul, node, emit)

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.gemm import Gemm
from tilewright.ops.requantshift import expand_requantised
from tilewright.records import dataclass


@dataclass(frozen=True)
class RequantizedGemm(Op):
    """Gemm, then RequantShift: A, B, an optional C, mul and add."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return expand_requantised(Gemm, node, emit)

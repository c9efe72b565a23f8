from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.records import dataclass


@dataclass(frozen=True)
class RMSNorm(Op):
    """The older name of RMSNormalization, over the last axis, in QuantLab-style float graphs."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        op = RMSNormalization(-1, node.attribute("eps", 1e-6))
        return emit(op, node.inputs, node.outputs)

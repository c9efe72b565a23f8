from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._qlinear import expand_unary
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearSigmoid(Op):
    """The logistic function of a quantised tensor."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return expand_unary(node, emit, "Sigmoid")

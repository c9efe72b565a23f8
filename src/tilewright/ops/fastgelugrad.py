from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.gelugrad import GeluGrad
from tilewright.records import dataclass


@dataclass(frozen=True)
class FastGeluGrad(Op):
    """GeluGrad of the approximation with tanh."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return emit(GeluGrad("tanh"), node.inputs[:2], node.outputs)

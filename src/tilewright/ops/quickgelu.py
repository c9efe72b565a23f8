from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.swish import Swish
from tilewright.records import dataclass


@dataclass(frozen=True)
class QuickGelu(Op):
    """x * sigmoid(alpha * x): Swish with another default."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return emit(Swish(node.attribute("alpha", 1.702)), node.inputs, node.outputs)

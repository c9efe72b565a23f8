from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.reducesum import ReduceSum
from tilewright.records import dataclass


@dataclass(frozen=True)
class SoftmaxGrad(Op):
    """Y * (dY - sum(Y * dY)) along an axis: the gradient of a Softmax's operand from that of its result Y."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, axis = Compose(node, emit), node.axis(node.attribute("axis", -1), node.rank())
        if node.type(0).shape != node.type(1).shape:
            raise Refusal(f"dY has shape {node.type(0).shape} and Y {node.type(1).shape}")
        gradient, y = node.inputs[:2]
        total = make(ReduceSum((axis,), True), make.mul(gradient, y))
        return make.give(make.mul(y, make.sub(gradient, total)))

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.records import dataclass


@dataclass(frozen=True)
class SGD(Op):
    """weight - lr * gradient: a step of gradient descent."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, (weight, gradient) = Compose(node, emit), node.inputs[:2]
        if make.shape(weight) != make.shape(gradient):
            raise Refusal(f"the weight has shape {make.shape(weight)} and its gradient {make.shape(gradient)}")
        return make.give(make.sub(weight, make.scaled(gradient, float(node.attribute("lr")))))

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._conv_gradients import bias_gradient, input_gradient, weight_gradient
from tilewright.records import dataclass


@dataclass(frozen=True)
class ConvGrad(Op):
    """Gradients of a Conv's operand, filters and bias from dY, X and W."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, (gradient, x, w) = Compose(node, emit), node.inputs[:3]
        node.ignore("kernel_shape", "group", "strides", "dilations", "pads", "auto_pad")
        shape, kernel = make.shape(x), make.shape(w)[2:]
        by_x = input_gradient(make, gradient, w, shape[2:]) if node.must_give(0) else ""
        by_w = weight_gradient(make, gradient, x, kernel) if node.must_give(1) else ""
        by_b = bias_gradient(make, gradient) if node.must_give(2) else ""
        return make.give(by_x, by_w, by_b)

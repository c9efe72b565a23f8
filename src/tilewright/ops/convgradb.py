from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._conv_gradients import bias_gradient
from tilewright.records import dataclass


@dataclass(frozen=True)
class ConvGradB(Op):
    """The gradient of a Conv's bias from dY."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("kernel_shape", "group", "strides", "dilations", "pads", "auto_pad")
        make = Compose(node, emit)
        return make.give(bias_gradient(make, node.inputs[0]))

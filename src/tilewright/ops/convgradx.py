from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._conv_gradients import input_gradient
from tilewright.ops._gradients import declared
from tilewright.records import dataclass


@dataclass(frozen=True)
class ConvGradX(Op):
    """The gradient of a Conv's operand from dY and W."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("kernel_shape")
        make, known = Compose(node, emit), declared(node)
        return make.give(input_gradient(make, node.inputs[0], node.inputs[1], known[2:] if known else None))

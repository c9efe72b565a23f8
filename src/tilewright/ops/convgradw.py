from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._conv_gradients import kernel_given, weight_gradient
from tilewright.ops._gradients import declared
from tilewright.records import dataclass


@dataclass(frozen=True)
class ConvGradW(Op):
    """The gradient of a Conv's filters from dY and X."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        return make.give(weight_gradient(make, node.inputs[0], node.inputs[1], kernel_given(node, declared(node))))

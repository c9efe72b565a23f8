from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._qlinear import dequantise, dequantise_bias, float_node, quantise, refuse_channels_last
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearConv(Op):
    """A convolution of quantised tensors: stands for DequantizeLinear, Conv and QuantizeLinear."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        refuse_channels_last(node)
        inputs = [dequantise(node, emit, 0), dequantise(node, emit, 3)]
        if node.has(8):
            inputs.append(dequantise_bias(node, emit, 8, (1, 4)))
        return quantise(node, emit, float_node(node, emit, "Conv", inputs), 6)

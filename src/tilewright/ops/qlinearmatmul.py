from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._qlinear import dequantise, float_node, quantise
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearMatMul(Op):
    """A product of quantised matrices: stands for DequantizeLinear, MatMul and QuantizeLinear."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        rows, columns = max(node.rank(0) - 2, 0), node.rank(3) - 1
        inputs = [dequantise(node, emit, 0, rows), dequantise(node, emit, 3, columns)]
        return quantise(node, emit, float_node(node, emit, "MatMul", inputs), 6)

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._qlinear import dequantise, float_node, quantise
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearConcat(Op):
    """Quantised tensors one after another: the result's scale and zero point, then three inputs for each tensor."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        parts = [dequantise(node, emit, position) for position in range(2, len(node.inputs), 3)]
        return quantise(node, emit, float_node(node, emit, "Concat", parts), 0, node.type(2).dtype)

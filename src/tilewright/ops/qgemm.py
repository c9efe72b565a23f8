from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._qlinear import dequantise, dequantise_bias, float_node, quantise
from tilewright.ops.identity import Identity
from tilewright.records import dataclass


@dataclass(frozen=True)
class QGemm(Op):
    """Gemm of quantised matrices; without a scale for the result it is float."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        columns = 0 if node.attribute("transB", 0) else 1
        inputs = [dequantise(node, emit, 0), dequantise(node, emit, 3, columns)]
        if node.has(6):
            # alpha applies to the bias, too: both are in the same steps.
            inputs.append(dequantise_bias(node, emit, 6, (1, 4), float(node.attribute("alpha", 1.0))))
        product = float_node(node, emit, "Gemm", inputs)
        return quantise(node, emit, product, 7) if node.has(7) else emit(Identity(), [product], node.outputs)

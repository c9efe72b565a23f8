from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.add import Add
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.records import dataclass


@dataclass(frozen=True)
class SkipLayerNormalization(Op):
    """LayerNormalization of the sum of two tensors and a bias; the sum is the fourth result."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        x, skip, gamma, beta, bias = (*node.inputs, "", "", "")[:5]
        if not gamma:
            raise Refusal("input gamma is missing")
        y, mean, deviation, total = (*node.outputs, "", "", "")[:4]
        if bias:
            (x,) = emit(Add(), [x, bias])
        (x,) = emit(Add(), [x, skip], [total] if total else None)
        op = LayerNormalization(-1, node.attribute("epsilon", 1e-12))
        emit(op, [x, gamma, beta], [y, mean, deviation])
        return node.outputs

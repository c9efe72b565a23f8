from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._zero_points import without_zero
from tilewright.ops.attention import self_attention
from tilewright.ops.matmul import MatMul
from tilewright.records import dataclass


@dataclass(frozen=True)
class QAttention(Op):
    """Attention of ONNX Runtime whose projections multiply integers; all after them is float."""

    operands: ClassVar[tuple[str, ...]] = (
        "X", "weights", "bias", "x_scale", "w_scale", "mask?", "x_zero?", "w_zero?", "past?",
    )  # fmt: skip

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        x, x_zero = without_zero(node, 0, 6, None, emit)
        w, w_zero = without_zero(node, 1, 7, -1, emit)
        total = make.cast(make(MatMul(a_zero=x_zero, b_zero=w_zero), x, w), "float32")
        whole = make.add(make.mul(total, make.mul(node.inputs[3], node.inputs[4])), node.inputs[2])
        mask, past = (node.inputs[at] if node.has(at) else "" for at in (5, 8))
        return self_attention(make, whole, mask, past, "")

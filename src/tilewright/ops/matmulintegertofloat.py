from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._zero_points import without_zero
from tilewright.ops.matmul import MatMul
from tilewright.records import dataclass


@dataclass(frozen=True)
class MatMulIntegerToFloat(Op):
    """(A - a_zero) @ (B - b_zero) * a_scale * b_scale + bias: ONNX Runtime's optimised graphs hold it."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "a_scale", "b_scale", "a_zero?", "b_zero?", "bias?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        a, a_zero = without_zero(node, 0, 4, None, emit)
        b, b_zero = without_zero(node, 1, 5, -1, emit)
        y = make.cast(make(MatMul(a_zero=a_zero, b_zero=b_zero), a, b), "float32")
        y = make.mul(y, make.mul(node.inputs[2], node.inputs[3]))
        return make.give(make.add(y, node.inputs[6]) if node.has(6) else y)

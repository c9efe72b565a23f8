from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._zero_points import without_zero
from tilewright.ops.matmul import MatMul
from tilewright.records import dataclass


@dataclass(frozen=True)
class MatMulInteger(Op):
    """(A - a_zero) @ (B - b_zero) in int32: a MatMul. Zero points are one value, or one per row of A or column of B."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "a_zero_point?", "b_zero_point?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        a, a_zero = without_zero(node, 0, 2, -2, emit)
        b, b_zero = without_zero(node, 1, 3, -1, emit)
        return emit(replace(MatMul(), a_zero=a_zero, b_zero=b_zero), [a, b], node.outputs)

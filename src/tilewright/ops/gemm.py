from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.onnx_node import Emit, OnnxNode
from tilewright.op import Op
from tilewright.ops._linear import bias_operand
from tilewright.ops.matmul import MatMul


@dataclass(frozen=True)
class Gemm(Op):
    """alpha * A' @ B' + beta * C on matrices: a MatMul with all of its attributes."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "C?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("broadcast")
        op = gemm_of(node)
        return emit(op, [*node.inputs[:2], bias_operand(node, 2, emit)], node.outputs)


def gemm_of(node: OnnxNode) -> MatMul:
    """The MatMul that a node with Gemm's attributes stands for."""
    # ONNX has matrices only, but exporters that join MatMul and Add into a Gemm keep the batch axes.
    if node.rank(0) < 2 or node.rank(1) < 2:
        raise Refusal(f"A has {node.rank(0)} axes and B {node.rank(1)}, both should have at least 2", "use MatMul")
    flags = bool(node.attribute("transA", 0)), bool(node.attribute("transB", 0))
    return MatMul(*flags, float(node.attribute("alpha", 1.0)), float(node.attribute("beta", 1.0)))

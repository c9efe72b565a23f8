from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.matmul import MatMul
from tilewright.records import dataclass


@dataclass(frozen=True)
class FusedMatMul(Op):
    """alpha * A @ B, each maybe transposed: ONNX Runtime's optimised graphs hold it."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        if node.attribute("transBatchA", 0) or node.attribute("transBatchB", 0):
            raise Refusal("transBatchA and transBatchB are not supported", "save the model before it is optimised")
        op = MatMul(bool(node.attribute("transA", 0)), bool(node.attribute("transB", 0)), node.attribute("alpha", 1.0))
        return emit(op, node.inputs, node.outputs)

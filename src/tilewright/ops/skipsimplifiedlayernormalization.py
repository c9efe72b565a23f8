from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.add import Add
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.records import dataclass


@dataclass(frozen=True)
class SkipSimplifiedLayerNormalization(Op):
    """RMSNormalization of the sum of two tensors and a bias; the sum is the fourth result."""

    operands: ClassVar[tuple[str, ...]] = ("X", "skip", "gamma", "bias?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        if node.must_give(1) or node.must_give(2):
            raise Refusal("results 2 and 3 (the statistics) are not supported", "export without them")
        y, _, _, total = (*node.outputs, "", "", "")[:4]
        x = node.inputs[0]
        if node.has(3):
            (x,) = emit(Add(), [x, node.inputs[3]])
        (x,) = emit(Add(), [x, node.inputs[1]], [total] if total else None)
        emit(RMSNormalization(-1, node.attribute("epsilon", 1e-12)), [x, node.inputs[2]], [y])
        return node.outputs

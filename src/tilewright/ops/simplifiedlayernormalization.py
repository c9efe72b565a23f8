from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._normalisation import fitted
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.records import dataclass


@dataclass(frozen=True)
class SimplifiedLayerNormalization(Op):
    """ONNX Runtime's name of RMSNormalization."""

    operands: ClassVar[tuple[str, ...]] = ("X", "scale")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("stash_type")
        if node.must_give(1):
            raise Refusal("the second result (the inverse deviation) is not supported", "export without it")
        shape = node.type(0).shape
        axis = node.axis(node.attribute("axis", -1), len(shape))
        op = RMSNormalization(axis, node.attribute("epsilon", 1e-5))
        return emit(op, [node.inputs[0], fitted(node.inputs[1], shape[axis:], emit)], node.outputs[:1])

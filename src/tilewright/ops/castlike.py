from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.cast import Cast
from tilewright.records import dataclass


@dataclass(frozen=True)
class CastLike(Op):
    """The first operand in the element type of the second: a Cast."""

    operands: ClassVar[tuple[str, ...]] = ("X", "target")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("saturate", "round_mode")
        return emit(Cast(node.type(1).dtype), node.inputs[:1], node.outputs)

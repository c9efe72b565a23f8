from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.mul import Mul
from tilewright.ops.swish import Swish
from tilewright.records import dataclass


@dataclass(frozen=True)
class SwiGLU(Op):
    """swish(a) * b, of tensors of the same shape."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        if node.type(0).shape != node.type(1).shape:
            raise Refusal(f"gate of shape {node.type(0).shape}, value of shape {node.type(1).shape}", "make them equal")
        (gate,) = emit(Swish(node.attribute("alpha", 1.0)), node.inputs[:1])
        return emit(Mul(), [gate, node.inputs[1]], node.outputs)

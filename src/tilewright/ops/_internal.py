"""Base of operators that only passes make."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.records import dataclass


@dataclass(frozen=True)
class Internal(Op):
    """Not to be read from a file: kernels trust constants that a pass has made, such as positions in a tensor."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        hint = "use the float operator between DequantizeLinear and QuantizeLinear"
        raise Refusal(f"{node.kind} is not an ONNX operator", hint)

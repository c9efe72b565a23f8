from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.add import Add
from tilewright.ops.gelu import Gelu
from tilewright.records import dataclass


@dataclass(frozen=True)
class FastGelu(Op):
    """gelu(x + bias), approximated with tanh."""

    operands: ClassVar[tuple[str, ...]] = ("X", "bias?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        inputs = emit(Add(), node.inputs) if node.has(1) else node.inputs[:1]
        return emit(Gelu("tanh"), inputs, node.outputs)

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._arithmetic import chain
from tilewright.ops.add import Add
from tilewright.records import dataclass


@dataclass(frozen=True)
class Sum(Op):
    """x0 + x1 + ...: a chain of Add."""

    operands: ClassVar[tuple[str, ...]] = ("X*",)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return chain(Add(wide=node.integers), node.inputs, node.outputs, emit)

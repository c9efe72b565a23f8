from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN
from tilewright.ops._compose import Compose
from tilewright.ops.greater import Greater
from tilewright.records import dataclass


@dataclass(frozen=True)
class Binarizer(Op):
    """1 above a threshold, else 0, in the operand's type."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, (x, *_) = Compose(node, emit), node.inputs
        wide = make.cast(x, "float32")
        above = make(Greater(), wide, make.like(node.attribute("threshold", 0.0), wide))
        return make.give(make.cast(above, make.kind(x).dtype))

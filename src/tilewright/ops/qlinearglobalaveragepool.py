from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._qlinear import expand_unary, refuse_channels_last
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearGlobalAveragePool(Op):
    """The mean over all positions of a quantised image."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        refuse_channels_last(node)
        return expand_unary(node, emit, "GlobalAveragePool")

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.reducemean import ReduceMean
from tilewright.records import dataclass


@dataclass(frozen=True)
class IntegerMean(Op):
    """ReduceMean with the rounding of the integer dialect."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return ReduceMean.expand(node, emit)

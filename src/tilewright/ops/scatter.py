from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Op
from tilewright.ops.scatterelements import ScatterElements
from tilewright.records import dataclass


@dataclass(frozen=True)
class Scatter(Op):
    """The older name of ScatterElements."""

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        return ScatterElements.from_onnx(node)

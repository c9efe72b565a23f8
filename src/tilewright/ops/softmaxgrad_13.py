from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.softmaxgrad import SoftmaxGrad
from tilewright.records import dataclass


@dataclass(frozen=True)
class SoftmaxGrad_13(Op):  # noqa: N801
    """SoftmaxGrad under the name that ONNX Runtime gives it from opset 13 on."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return SoftmaxGrad.expand(node, emit)

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.mseloss import reduction_of
from tilewright.records import dataclass


@dataclass(frozen=True)
class MSELossGrad(Op):
    """The gradient of MSELoss by its first operand; a first input more is that of the loss."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, (*outer, found, wanted) = Compose(node, emit), [name for name in node.inputs if name]
        difference = make.sub(found, wanted)
        count = max(make.kind(difference).elements, 1) if reduction_of(node) == "mean" else 1
        slope = make.scaled(difference, 2.0 / count)
        return make.give(make.mul(slope, outer[0]) if outer else slope)

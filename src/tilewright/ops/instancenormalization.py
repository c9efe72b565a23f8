from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Op
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.records import dataclass


@dataclass(frozen=True)
class InstanceNormalization(Op):
    """Normalisation of each channel of each image: GroupNormalization with one channel in a group."""

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        node.ignore("consumed_inputs")
        if node.rank() < 2:
            raise Refusal(f"shape {node.type(0).shape} has no channels")
        return GroupNormalization(node.type(0).shape[1], node.attribute("epsilon", 1e-5)), node.inputs

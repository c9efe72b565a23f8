from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.reshape import Reshape
from tilewright.records import dataclass


@dataclass(frozen=True)
class Unsqueeze(Op):
    """With more axes of size 1. Becomes a Reshape."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        axes = node.integers_given(1, "axes")
        if axes is None:
            raise Refusal("axes are missing")
        shape = node.type(0).shape
        rank = len(shape) + len(axes)
        added = {node.axis(axis, rank) for axis in axes}
        if len(added) != len(axes):
            raise Refusal(f"axes {axes} name an axis twice")
        sizes = iter(shape)
        result = tuple(1 if axis in added else next(sizes) for axis in range(rank))
        return emit(Reshape(result), node.inputs[:1], node.outputs)

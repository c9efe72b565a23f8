from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.reshape import Reshape
from tilewright.records import dataclass


@dataclass(frozen=True)
class Squeeze(Op):
    """Without some axes of size 1 (all of them if none is named). Becomes a Reshape."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        shape = node.type(0).shape
        axes = node.integers_given(1, "axes")
        if axes is None:
            axes = tuple(axis for axis, size in enumerate(shape) if size == 1)
        dropped = {node.axis(axis, len(shape)) for axis in axes}
        if any(shape[axis] != 1 for axis in dropped):
            raise Refusal(f"axes {axes} of shape {shape} are not all of size 1")
        kept = tuple(size for axis, size in enumerate(shape) if axis not in dropped)
        return emit(Reshape(kept), node.inputs[:1], node.outputs)

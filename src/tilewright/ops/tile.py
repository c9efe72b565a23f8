from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.expand import Expand
from tilewright.ops.identity import Identity
from tilewright.ops.reshape import Reshape
from tilewright.records import dataclass


@dataclass(frozen=True)
class Tile(Op):
    """X repeated along each axis. Becomes an Expand over one more axis for each that is repeated."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        shape, repeats = node.type(0).shape, node.integers_given(1, "repeats")
        if repeats is None or len(repeats) != len(shape) or min(repeats, default=0) < 0:
            raise Refusal(f"repeats {repeats} do not fit shape {shape}")
        if all(count == 1 for count in repeats):
            return emit(Identity(), node.inputs[:1], node.outputs)
        axes = list(zip(repeats, shape, strict=True))
        apart = [size for count, length in axes for size in ((1, length) if count != 1 else (length,))]
        repeated = [size for count, length in axes for size in ((count, length) if count != 1 else (length,))]
        (x,) = emit(Reshape(tuple(apart)), node.inputs[:1])
        (x,) = emit(Expand(tuple(repeated)), [x])
        return emit(Reshape(tuple(count * length for count, length in axes)), [x], node.outputs)

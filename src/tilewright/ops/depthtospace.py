from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.records import dataclass

ORDERS = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""Where the axes n, block row, block column, channel (CRD: n, channel, block row, block column), row, column go."""


@dataclass(frozen=True)
class DepthToSpace(Op):
    """Channels become blocks of pixels. Becomes a Transpose of six axes."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        block, mode = node.attribute("blocksize"), node.attribute("mode", "DCR")
        if mode not in ORDERS:
            raise Refusal(f"mode {mode} is unknown", f"known: {', '.join(ORDERS)}")
        n, channels, height, width = image_shape(node)
        if block < 1 or channels % (block * block):
            raise Refusal(f"{channels} channels do not make blocks of {block} x {block}")
        left = channels // block**2
        parts = (block, block, left) if mode == "DCR" else (left, block, block)
        (x,) = emit(Reshape((n, *parts, height, width)), node.inputs)
        (x,) = emit(Transpose(ORDERS[mode]), [x])
        return emit(Reshape((n, left, height * block, width * block)), [x], node.outputs)


def image_shape(node: OnnxNode) -> tuple[int, int, int, int]:
    shape = node.type(0).shape
    if len(shape) != 4:
        raise Refusal(f"shape {shape} has {len(shape)} axes, four expected")
    n, channels, height, width = shape
    return n, channels, height, width

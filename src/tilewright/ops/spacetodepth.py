from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.depthtospace import image_shape
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.records import dataclass

ORDERS = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}
"""Where the axes n, channel, row, block row, column, block column go."""


@dataclass(frozen=True)
class SpaceToDepth(Op):
    """Blocks of pixels become channels. Becomes a Transpose of six axes."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        block, mode = node.attribute("blocksize"), node.attribute("mode", "DCR")
        if mode not in ORDERS:
            raise Refusal(f"mode {mode} is unknown", f"known: {', '.join(ORDERS)}")
        n, channels, height, width = image_shape(node)
        if block < 1 or height % block or width % block:
            raise Refusal(f"an image of {height} x {width} does not divide into blocks of {block} x {block}")
        (x,) = emit(Reshape((n, channels, height // block, block, width // block, block)), node.inputs)
        (x,) = emit(Transpose(ORDERS[mode]), [x])
        return emit(Reshape((n, channels * block**2, height // block, width // block)), [x], node.outputs)

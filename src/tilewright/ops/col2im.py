from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Shape
from tilewright.ops._compose import Compose, refuse_large
from tilewright.ops._spatial import read_pads, read_strides
from tilewright.ops._windows import reach
from tilewright.ops.cast import Cast
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.records import dataclass

SHORT = ("int8", "uint8", "int16", "uint16")
"""Integers that are summed as floats: sums wrap around, as those of ONNX do."""
MOST_SUMMED = 2**8
"""As many of them are exact in float32."""


@dataclass(frozen=True)
class Col2Im(Op):
    """Columns put back where windows took them from, and summed. Becomes a ConvTranspose with filters of one 1 each."""

    operands: ClassVar[tuple[str, ...]] = ("X", "image_shape", "block_shape")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        image, block = node.integers_at(1, "the shape of the image"), node.integers_at(2, "the shape of a block")
        if not image or not block or len(image) != len(block) or len(image) > 2:
            raise Refusal(f"an image of shape {image} from blocks of shape {block}", "1 and 2 axes are supported")
        (strides, dilations), pads = read_strides(node, len(image)), read_pads(node, len(image))
        spans = (reach(taps, dilation) for taps, dilation in zip(block, dilations, strict=True))
        padded = (size + pads[at] + pads[len(image) + at] for at, size in enumerate(image))
        counts = tuple((p - s) // stride + 1 for p, s, stride in zip(padded, spans, strides, strict=True))
        batch, columns, _ = node.type(0).shape
        if min(*block, *image) < 1 or columns % math.prod(block):
            raise Refusal(f"{columns} rows of columns for blocks of shape {block} in an image of shape {image}")
        channels = columns // math.prod(block)
        refuse_large("the filters", columns, math.prod(block))
        dtype = node.type(0).dtype
        x = make.reshape(node.inputs[0], (batch, columns, *counts))
        op = ConvTranspose(channels, strides=strides, dilations=dilations, before=pads[: len(image)], spatial=image)
        filters = make.constant(_filters(channels, block), "filters")
        if dtype not in SHORT:
            return emit(op, [x, filters], node.outputs)
        if math.prod(block) > MOST_SUMMED:
            raise Refusal(f"{math.prod(block)} {dtype} are summed", f"at most {MOST_SUMMED} are exact in float32")
        total = make(Cast("int32"), make(op, make(Cast("float32"), x), filters))
        return emit(Cast(dtype), [total], node.outputs)


def _filters(channels: int, block: Shape) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    taps = math.prod(block)
    return np.tile(np.eye(taps, dtype=np.float32), (channels, 1)).reshape(channels * taps, 1, *block)

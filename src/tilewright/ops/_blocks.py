"""Quantisation with a scale for each block of neighbours along an axis, written down in terms of simpler operators."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit
from tilewright.ir.types import Shape, limits
from tilewright.ops._compose import Compose
from tilewright.ops.cast import ONNX_TYPES
from tilewright.ops.clip import Clip
from tilewright.ops.div import Div
from tilewright.ops.round import Round


def is_blocked(node: OnnxNode) -> bool:
    return bool(node.attribute("block_size", 0)) and node.rank(1) == node.rank()


def dequantised_blocks(node: OnnxNode, emit: Emit) -> Sequence[str]:
    """(x - zero) * scale."""
    node.ignore("output_dtype")
    make, shape = Compose(node, emit), node.type(0).shape
    apart, table = _shapes(node)
    x = make.reshape(make.cast(node.inputs[0], "float32"), apart)
    if node.has(2):
        x = make.sub(x, make.reshape(make.cast(node.inputs[2], "float32"), table))
    return make.give(make.reshape(make.mul(x, make.reshape(node.inputs[1], table)), shape))


def quantised_blocks(node: OnnxNode, emit: Emit) -> Sequence[str]:
    """saturate(round(x / scale) + zero)."""
    make, shape = Compose(node, emit), node.type(0).shape
    node.ignore("precision")
    apart, table = _shapes(node)
    dtype = node.type(2).dtype if node.has(2) else ONNX_TYPES.get(node.attribute("output_dtype", 2), "")
    if dtype not in ("int8", "uint8", "int16", "uint16"):
        raise Refusal(f"quantises to {dtype or 'an unknown type'} in blocks")
    x = make(Div(), make.reshape(node.inputs[0], apart), make.reshape(node.inputs[1], table))
    x = make(Round(), x)
    if node.has(2):
        x = make.add(x, make.reshape(make.cast(node.inputs[2], "float32"), table))
    low, high = limits(dtype)
    return make.give(make.reshape(make.cast(make(Clip(low, high), x), dtype), shape))


def _shapes(node: OnnxNode) -> tuple[Shape, Shape]:
    """x with an axis for the blocks and one inside of them, and the scales beside it."""
    shape, scales, block = node.type(0).shape, node.type(1).shape, node.attribute("block_size", 0)
    axis = node.axis(node.attribute("axis", 1), len(shape))
    wanted = (*shape[:axis], -(-shape[axis] // block), *shape[axis + 1 :])
    if scales != wanted or shape[axis] % block:
        raise Refusal(f"scales of shape {scales} for blocks of {block} along axis {axis} of shape {shape}")
    apart = (*shape[:axis], shape[axis] // block, block, *shape[axis + 1 :])
    return apart, (*scales[: axis + 1], 1, *scales[axis + 1 :])

"""Blocks of pixels as batches and back: how converters write dilated convolutions. And sums of many, largest values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.quantisation import operand
from tilewright.ir.types import Shape
from tilewright.ops.add import Add
from tilewright.ops.pad import Pad
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import of_ranges
from tilewright.ops.transpose import Transpose


def space_to_batch(node: Node) -> Sequence[str]:
    """Axes after the first with a border, then in blocks, whose places come in front of the batch."""
    blocks, borders = _blocks(node), _pairs(node, "the borders")
    shape, count = node.shape(0), len(blocks)
    rest = len(shape) - 1 - count
    begins, ends = ([0, *(pair[side] for pair in borders), *[0] * rest] for side in (0, 1))
    wide = [size + begin + end for size, begin, end in zip(shape, begins, ends, strict=True)]
    node.check_elements(wide)
    if any(size % block for size, block in zip(wide[1:], blocks, strict=False)):
        raise Refusal(f"blocks of {blocks} do not divide a tensor of {wide} (with padding)")
    padded = node.emit(Pad((*begins, *ends), _border(node)), node.input(0)) if wide != list(shape) else node.input(0)
    parts = [size for pair in zip(wide[1:], blocks, strict=False) for size in (pair[0] // pair[1], pair[1])]
    apart = node.emit(Reshape((wide[0], *parts, *wide[1 + count :])), padded)
    places, kept = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    perm = (*places, 0, *kept, *range(2 * count + 1, 2 * count + 1 + rest))
    small = [size // block for size, block in zip(wide[1:], blocks, strict=False)]
    turned = node.emit(Transpose(perm), apart)
    return [node.emit(Reshape((wide[0] * math.prod(blocks), *small, *wide[1 + count :])), turned)]


def _border(node: Node) -> int:
    """What stands for zero. TensorFlow Lite Micro's kernel never sets that number: it has what memory held before."""
    return operand(node, 0)[1] if node.is_quantised() else 0


def batch_to_space(node: Node) -> Sequence[str]:
    """The other way round, without what is cropped."""
    blocks, crops = _blocks(node), _pairs(node, "the crops")
    shape, count = node.shape(0), len(blocks)
    if shape[0] % math.prod(blocks):
        raise Refusal(f"a batch of {shape[0]} makes no blocks of {blocks}")
    batch, rest = shape[0] // math.prod(blocks), shape[1 + count :]
    apart = node.emit(Reshape((*blocks, batch, *shape[1:])), node.input(0))
    inside = [axis for place in range(count) for axis in (count + 1 + place, place)]
    turned = node.emit(Transpose((count, *inside, *range(2 * count + 1, 2 * count + 1 + len(rest)))), apart)
    wide = (batch, *(size * block for size, block in zip(shape[1:], blocks, strict=False)), *rest)
    whole = node.emit(Reshape(wide), turned)
    ranges = {1 + axis: (begin, wide[1 + axis] - end, 1) for axis, (begin, end) in enumerate(crops)}
    if any(begin >= end for begin, end, _ in ranges.values()):
        raise Refusal(f"crops {crops} leave nothing of {list(wide)}")
    return [whole if not any(map(any, crops)) else node.emit(of_ranges(wide, ranges), whole)]


def _blocks(node: Node) -> list[int]:
    blocks = node.integers(1, "the blocks")
    if not 1 <= len(blocks) < len(node.shape(0)) or min(blocks) < 1:
        raise Refusal(f"blocks {blocks} of a tensor of shape {list(node.shape(0))}")
    return blocks


def _pairs(node: Node, meaning: str) -> list[tuple[int, int]]:
    given, count = node.integers(2, meaning), len(_blocks(node))
    if len(given) != 2 * count or min(given) < 0:
        raise Refusal(f"{meaning} are {given}, two for each of {count} axes are expected")
    return list(zip(given[0::2], given[1::2], strict=True))


def sum_of_many(node: Node) -> Sequence[str]:
    if node.is_quantised():
        raise Refusal("of quantised tensors, which have scales of their own", "convert it as ADD")
    made = node.input(0)
    for position in range(1, node.count):
        made = node.emit(Add(), made, node.input(position))
    return [made]


def largest(node: Node) -> Sequence[str]:
    """Values and where they are: those of equal values that come first."""
    (count,) = node.integers(1, "the number of values")
    shape: Shape = node.shape(0)
    if not shape or not 0 < count <= shape[-1]:
        raise Refusal(f"the largest {count} of a tensor of shape {list(shape)}")
    wanted = node.add_constant(np.asarray([count], np.int64), "count")
    values, places = node.onnx("TopK", [node.input(0), wanted], 2, axis=-1, largest=1, sorted=1)
    return [values, node.onnx("Cast", [places], to=6)[0]]


RULES = {
    "SPACE_TO_BATCH_ND": space_to_batch,
    "BATCH_TO_SPACE_ND": batch_to_space,
    "ADD_N": sum_of_many,
    "TOPK_V2": largest,
}

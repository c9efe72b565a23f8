"""Parts of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice

MAX_PARTS = 2**12


def _part(node: Node, tensor: str, ranges: Sequence[range]) -> str:
    """The elements at these positions of each axis."""
    shape = node.scope.builder.types[tensor].shape
    if all(found == range(size) for found, size in zip(ranges, shape, strict=True)):
        return tensor
    starts, steps = tuple(r.start if len(r) else 0 for r in ranges), tuple(r.step for r in ranges)
    return node.emit(Slice(starts, steps, tuple(map(len, ranges))), tensor)


def slice_(node: Node) -> Sequence[str]:
    shape, starts, sizes = node.shape(0), node.integers(1, "where it begins"), node.integers(2, "the size")
    if len(starts) != len(shape) or len(sizes) != len(shape):
        raise Refusal(f"a slice from {starts} of size {sizes} of shape {list(shape)}")
    ends = [length if size == -1 else start + size for start, size, length in zip(starts, sizes, shape, strict=True)]
    if any(not 0 <= a <= b <= length for a, b, length in zip(starts, ends, shape, strict=True)):
        raise Refusal(f"a slice from {starts} of size {sizes} of shape {list(shape)}")
    return [_part(node, node.input(0), [range(a, b) for a, b in zip(starts, ends, strict=True)])]


def strided_slice(node: Node) -> Sequence[str]:
    """As Python's slices; bits of masks say which ends are open and which axes disappear."""
    shape = node.shape(0)
    begins, ends, steps = (node.integers(position, "begin, end or stride") for position in (1, 2, 3))
    if not len(begins) == len(ends) == len(steps) <= len(shape) or 0 in steps:
        raise Refusal(f"a slice from {begins} to {ends} by {steps} of shape {list(shape)}")
    for mask in ("EllipsisMask", "NewAxisMask"):
        if int(node.option(mask, 0)):
            raise Refusal(f"{mask} is not supported", "convert the model with a newer converter")
    dropped = int(node.option("ShrinkAxisMask", 0))
    ranges = [range(size) for size in shape]
    for axis, (begin, end, step) in enumerate(zip(begins, ends, steps, strict=True)):
        bit = 1 << axis
        if dropped & bit:
            at = node.axis(begin, shape[axis]) if shape[axis] else 0
            ranges[axis] = range(at, at + 1)
            continue
        first = None if int(node.option("BeginMask", 0)) & bit else begin
        last = None if int(node.option("EndMask", 0)) & bit else _end(node, begin, end)
        ranges[axis] = range(shape[axis])[slice(first, last, step)]
    made = _part(node, node.input(0), ranges)
    kept = tuple(len(found) for axis, found in enumerate(ranges) if not dropped & (1 << axis))
    return [made if len(kept) == len(ranges) else node.emit(Reshape(kept), made)]


def _end(node: Node, begin: int, end: int) -> int:
    """An end may count from the beginning."""
    return begin + end if node.option("Offset", False) else end


def split(node: Node) -> Sequence[str]:
    """The axis comes first."""
    count = len(node.operator.outputs)
    axis = node.axis(_one(node, 0), len(node.shape(1)))
    if count < 1 or node.shape(1)[axis] % count:
        raise Refusal(f"{count} equal parts of an axis of {node.shape(1)[axis]}")
    return _parts(node, 1, axis, [node.shape(1)[axis] // count] * count)


def split_v(node: Node) -> Sequence[str]:
    sizes, axis = node.integers(1, "the sizes"), node.axis(_one(node, 2), len(node.shape(0)))
    length = node.shape(0)[axis]
    rest = length - sum(size for size in sizes if size >= 0)
    sizes = [rest if size == -1 else size for size in sizes]
    if sum(sizes) != length or min(sizes, default=0) < 0 or len(sizes) != len(node.operator.outputs):
        raise Refusal(f"parts {sizes} of an axis of {length}")
    return _parts(node, 0, axis, sizes)


def unpack(node: Node) -> Sequence[str]:
    shape = node.shape(0)
    axis = node.axis(int(node.option("Axis", 0)), len(shape))
    if shape[axis] != len(node.operator.outputs):
        raise Refusal(f"{len(node.operator.outputs)} parts of an axis of {shape[axis]}")
    kept = (*shape[:axis], *shape[axis + 1 :])
    return [node.emit(Reshape(kept), part) for part in _parts(node, 0, axis, [1] * shape[axis])]


def _one(node: Node, position: int) -> int:
    values = node.integers(position, "the axis")
    if len(values) != 1:
        raise Refusal(f"axes {values}; one is expected")
    return values[0]


def _parts(node: Node, position: int, axis: int, sizes: Sequence[int]) -> list[str]:
    if len(sizes) > MAX_PARTS:
        raise Refusal(f"{len(sizes)} parts; at most {MAX_PARTS} are supported")
    shape, made = node.shape(position), []
    for size, end in zip(sizes, accumulate(sizes), strict=True):
        ranges = [range(length) for length in shape]
        ranges[axis] = range(end - size, end)
        made.append(_part(node, node.input(position), ranges))
    return made


RULES = {
    "SLICE": slice_, "STRIDED_SLICE": strided_slice, "SPLIT": split, "SPLIT_V": split_v, "UNPACK": unpack,
}  # fmt: skip

"""Means over windows that padding cuts: each result is the mean of what its window has inside the image.

Results whose windows have the same taps are one convolution of a part of the image, with a filter for each channel: at
most the edges, corners and the middle. What they give is joined again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

from tilewright.ir.graph import Builder, Node
from tilewright.ir.types import Shape
from tilewright.ops.concat import Concat
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.slice import of_ranges
from tilewright.records import dataclass

MOST_PARTS = 25
FIRST_AXIS = 2
"""Of windows: those before are images and channels."""

Mean = Callable[[str, Shape, Shape], str | None]
"""The mean of an image over windows of these taps at these strides, without padding; None where there is none."""


@dataclass(frozen=True)
class Span:
    """Results along an axis whose windows have the same taps."""

    first: int
    """Of the image, the first element that they see."""
    end: int
    taps: int
    stride: int


def spans(size: int, taps: int, stride: int, before: int, count: int) -> list[Span] | None:
    """Of `count` results; None where a window sees nothing of the image."""
    found: list[Span] = []
    for start in range(-before, count * stride - before, stride):
        first, end = max(start, 0), min(start + taps, size)
        if first >= end:
            return None
        last = found[-1] if found else None
        if last and last.taps == end - first and first == last.end - last.taps + stride:
            found[-1] = Span(last.first, end, last.taps, stride)
        else:
            found.append(Span(first, end, end - first, stride))
    return found


def padded_mean(op: QLinearAveragePool, builder: Builder, node: Node, results: Shape, mean: Mean) -> str | None:
    """The name of what is joined; None where the windows are no such ones or are too many."""
    image, rank = node.inputs[0], len(op.kernel)
    sizes = builder.type_of(image).shape[FIRST_AXIS:]
    found = [
        spans(size, *of) for size, *of in zip(sizes, op.kernel, op.strides, op.padding[:rank], results, strict=True)
    ]
    axes = [one for one in found if one is not None]
    if len(axes) < rank or not 1 < math.prod(map(len, axes)) <= MOST_PARTS:
        return None
    parts = [_part(builder, image, chosen, mean) for chosen in product(*axes)]
    if any(part is None for part in parts):
        return None
    return _joined(builder, [part for part in parts if part], list(map(len, axes)), node)


def _part(builder: Builder, image: str, chosen: Sequence[Span], mean: Mean) -> str | None:
    shape = builder.type_of(image).shape
    cut = of_ranges(shape, {FIRST_AXIS + axis: (one.first, one.end, 1) for axis, one in enumerate(chosen)})
    part = image if cut.sizes == shape else builder.add(cut, [image])[0]
    return mean(part, tuple(one.taps for one in chosen), tuple(one.stride for one in chosen))


def _joined(builder: Builder, parts: Sequence[str], counts: Sequence[int], node: Node) -> str:
    """Along the last axis first; the last that is joined is the node's result."""
    outermost = next(axis for axis, count in enumerate(counts) if count > 1)
    for axis, count in reversed(list(enumerate(counts))):
        if count > 1:
            outputs = node.outputs if axis == outermost else None
            rows = [parts[first : first + count] for first in range(0, len(parts), count)]
            parts = [builder.add(Concat(FIRST_AXIS + axis), row, outputs, node.name)[0] for row in rows]
    return parts[0]

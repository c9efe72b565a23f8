"""Convolutions over three spatial axes, as ones over two: the planes that a result is made of become channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._linear import bias_operand
from tilewright.ops._windows import reach
from tilewright.ops.pad import Pad
from tilewright.records import dataclass


@dataclass(frozen=True)
class Depth:
    """The window along the first of three axes; `before` and `after` are padding, or what is cut off if negative."""

    taps: int
    stride: int
    dilation: int
    before: int
    after: int

    def results(self, planes: int) -> int:
        return (planes + self.before + self.after - reach(self.taps, self.dilation)) // self.stride + 1


class OverPlanes(Protocol):
    """An operator over three axes that is written as others over two."""

    def applied(self, make: Compose, x: str, w: str, bias: str) -> str: ...


def expanded(op: OverPlanes, inputs: Sequence[str], node: OnnxNode, emit: Emit) -> Sequence[str]:
    """What stands for a node with a filter and perhaps a bias."""
    make = Compose(node, emit)
    return make.give(op.applied(make, inputs[0], inputs[1], bias_operand(node, 2, emit)))


def planes_as_channels(make: Compose, x: str, depth: Depth, groups: int, fill: int) -> str:
    """X[n, g*c, d, h, w] as [n * results, g * taps * c, h, w]."""
    n, channels, planes, height, width = make.shape(x)
    results = depth.results(planes)
    if results < 1:
        raise Refusal(
            f"a window of {depth.taps} taps with dilation {depth.dilation} on {planes} planes and padding "
            f"{depth.before, depth.after}",
            "the window must fit into the padded input",
        )
    padded = _padded(make, make.transpose(x, (0, 2, 1, 3, 4)), depth, fill)
    seen = []
    for tap in range(depth.taps):
        first = tap * depth.dilation
        part = make.part(padded, 1, first, first + (results - 1) * depth.stride + 1, depth.stride)
        seen.append(make.reshape(part, (n * results, groups, channels // groups, height, width)))
    return make.reshape(make.join(2, *seen), (n * results, depth.taps * channels, height, width))


def sees_every_plane(depth: Depth, planes: int) -> bool:
    """Whether one tap of a window that takes every step has a plane for every result."""
    results = depth.results(planes)
    return depth.stride == 1 and results >= 1 and any(0 <= shift <= planes - results for shift in _shifts(depth))


def _shifts(depth: Depth) -> list[int]:
    """How far behind a result's number the plane is that each tap sees."""
    return [tap * depth.dilation - depth.before for tap in range(depth.taps)]


def tap_by_tap(make: Compose, x: str, w: str, bias: str, depth: Depth, over_two: Op) -> str:
    """A convolution with a filter for each channel as a sum of those over two axes, one for each tap along the first:
    planes are images where they are, and only results are padded."""
    n, channels, planes, height, width = make.shape(x)
    filters, _, _, *kernel = make.shape(w)
    results, images = depth.results(planes), make.transpose(x, (0, 2, 1, 3, 4))
    total = ""
    for tap, shift in sorted(enumerate(_shifts(depth)), key=lambda one: not 0 <= one[1] <= planes - results):
        first, end = max(shift, 0), min(planes, results + shift)
        if first >= end:
            continue
        seen = make.reshape(make.part(images, 1, first, end), (n * (end - first), channels, height, width))
        made = make(
            over_two, seen, make.reshape(make.part(w, 2, tap, tap + 1), (filters, 1, *kernel)), *_once(bias, total)
        )
        some = make.reshape(made, (n, end - first, *make.shape(made)[1:]))
        pads = (0, first - shift, 0, 0, 0, 0, results - (end - shift), 0, 0, 0)
        shown = make(Pad(pads), some) if any(pads) else some
        total = make.add(total, shown) if total else shown
    return make.transpose(total, (0, 2, 1, 3, 4))


def _once(bias: str, total: str) -> tuple[str, ...]:
    """The bias of the first sum."""
    return (bias,) if bias and not total else ()


def _padded(make: Compose, planes: str, depth: Depth, fill: int) -> str:
    """Of [n, d, c, h, w] the planes that windows see."""
    size = make.shape(planes)[1]
    kept = make.part(planes, 1, max(-depth.before, 0), size + min(depth.after, 0))
    before, after = max(depth.before, 0), max(depth.after, 0)
    return make(Pad((0, before, 0, 0, 0, 0, after, 0, 0, 0), fill), kept) if before or after else kept


def planes_back(make: Compose, y: str, batch: int) -> str:
    """[n * results, f, h, w] as [n, f, results, h, w]."""
    rows, *rest = make.shape(y)
    return make.transpose(make.reshape(y, (batch, rows // batch, *rest)), (0, 2, 1, 3, 4))


def planes_apart(make: Compose, x: str, stride: int, fill: int) -> str:
    """X[n, c, d, h, w] with stride - 1 planes of zero behind each plane."""
    n, channels, planes, height, width = make.shape(x)
    if stride == 1:
        return x
    row = make.reshape(x, (n * channels * planes, height * width))
    return make.reshape(
        make(Pad((0, 0, 0, (stride - 1) * height * width), fill), row), (n, channels, planes * stride, height, width)
    )

"""Gradients, by operators that every runtime has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilewright.errors import Refusal
from tilewright.export.registry import rule
from tilewright.export.rules.linear import ends_of_transposed
from tilewright.export.writer import NodeWriter, Step
from tilewright.ops._windows import Windowed
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.gelugrad import GeluGrad
from tilewright.ops.maxpoolgrad import MaxPoolGrad
from tilewright.ops.relugrad import ReluGrad


@rule(ReluGrad)
def of_relu(to: NodeWriter, op: ReluGrad) -> None:
    zero = _number(to, 0.0, "zero")
    to.end("Where", [to.add("Greater", [to.operand("B"), zero]), to.operand("A"), zero])


@rule(GeluGrad)
def of_gelu(to: NodeWriter, op: GeluGrad) -> None:
    x, half = to.operand("B"), _number(to, 0.5, "half")
    square = to.add("Mul", [x, x])
    if op.approximate == "none":
        curve = to.add("Erf", [to.add("Mul", [x, _number(to, math.sqrt(0.5), "root")])])
        bell = to.add("Exp", [to.add("Mul", [square, _number(to, -0.5, "minus_half")])])
        rest = to.add("Mul", [to.add("Mul", [x, bell]), _number(to, 1 / math.sqrt(2 * math.pi), "height")])
    else:
        root, cubic = math.sqrt(2 / math.pi), 0.044715
        inner = to.add("Add", [to.add("Mul", [square, _number(to, root * cubic, "cubic")]), _number(to, root, "root")])
        curve = to.add("Tanh", [to.add("Mul", [x, inner])])
        bell = to.add("Sub", [_number(to, 1.0, "one"), to.add("Mul", [curve, curve])])
        steep = to.add("Mul", [square, _number(to, 1.5 * root * cubic, "steep")])
        grown = to.add("Mul", [x, to.add("Add", [steep, _number(to, 0.5 * root, "flat")])])
        rest = to.add("Mul", [grown, bell])
    level = to.add("Add", [to.add("Mul", [curve, half]), half])
    to.end("Mul", [to.operand("A"), to.add("Add", [level, rest])])


@rule(ConvInputGrad)
def of_operand(to: NodeWriter, op: ConvInputGrad) -> None:
    """A transposed convolution."""
    g, w = _channels_second(to, op, "G"), _channels_second(to, op, "W")
    before = op.padding[: op.rank]
    turned = ConvTranspose(op.groups, strides=op.strides, dilations=op.dilations, before=before, spatial=op.size)
    spatial = [tuple(op.spatial(to.shape(name))) for name in "GW"]
    ends = ends_of_transposed(turned, spatial[0], spatial[1])
    how = {
        "strides": op.strides, "dilations": op.dilations, "group": op.groups,
        "pads": (*before, *(max(end, 0) for end in ends)), "output_padding": tuple(max(-end, 0) for end in ends),
    }  # fmt: skip
    to.chain(Step("ConvTranspose", (g, w), how), *_stored(op))


@rule(ConvWeightGrad)
def of_filters(to: NodeWriter, op: ConvWeightGrad) -> None:
    """A convolution in which channels are the batch, and the gradient is the filters: strides and dilations change
    places."""
    x, g = (to.shape(name) for name in "XG")
    n, channels, filters, groups = x[0], op.channels(x) // op.groups, op.channels(g) // op.groups, op.groups
    image = _turned(to, op, "X", (n, groups, channels), (2, 1, 0), (channels, groups * n))
    gradient = _turned(to, op, "G", (n, groups, filters), (1, 2, 0), (groups * filters, n))
    how: dict[str, Any] = {"strides": op.dilations, "dilations": op.strides, "group": groups, "pads": op.padding}
    rank = op.rank
    cut = [to.integers(values, name) for values, name in (((0,) * rank, "starts"), (op.kernel, "ends"))]
    axes = to.integers(tuple(range(2, 2 + rank)), "spatial")
    seen = to.add("Slice", [to.add("Conv", [image, gradient], **how), *cut, axes])
    order = (1, *range(2, 2 + rank), 0) if op.channels_last else (1, 0, *range(2, 2 + rank))
    to.end("Transpose", [seen], perm=order)


def _turned(
    to: NodeWriter, op: Windowed, name: str, outer: tuple[int, ...], order: tuple[int, ...], joined: tuple[int, ...]
) -> str:
    """An operand whose batch, groups and channels change places."""
    spatial = op.spatial(to.shape(name))
    apart = to.add("Reshape", [_channels_second(to, op, name), to.integers((*outer, *spatial), f"{name}_apart")])
    moved = to.add("Transpose", [apart], perm=(*order, *range(3, 3 + len(spatial))))
    return to.add("Reshape", [moved, to.integers((*joined, *spatial), f"{name}_joined")])


@rule(MaxPoolGrad)
def of_pool(to: NodeWriter, op: MaxPoolGrad) -> None:
    """Where the pool finds its elements, the gradient is added to zeros."""
    if any(pad >= taps for pad, taps in zip(op.padding, op.kernel * 2, strict=True)):
        raise Refusal("a window may lie in the padding altogether", "ONNX's pools pad less than a window is long")
    how: dict[str, Any] = {
        "strides": op.strides,
        "dilations": op.dilations,
        "pads": op.padding,
        "kernel_shape": op.kernel,
    }
    x, g = _channels_second(to, op, "X"), _channels_second(to, op, "G")
    best, places = (to.to.fresh(f"{to.node.key}_{name}") for name in ("best", "places"))
    to.end("MaxPool", [x], [best, places], **how)
    flat = to.integers((-1,), "flat")
    rows = [to.add("Reshape", [tensor, flat]) for tensor in (places, g)]
    zeros = to.constant(np.zeros(to.type("X").elements, np.float32), "zeros")
    total = to.add("ScatterElements", [zeros, *rows], axis=0, reduction="add")
    shape = to.shape("X")
    images = to.integers((shape[0], op.channels(shape), *op.spatial(shape)), "images")
    to.chain(*[Step("Reshape", (images,)), *_stored(op)], first=total)


def _number(to: NodeWriter, value: float, hint: str) -> str:
    return to.constant(np.asarray(value, np.float32), hint)


def _channels_second(to: NodeWriter, op: Windowed, name: str) -> str:
    if not op.channels_last:
        return to.operand(name)
    return to.add("Transpose", [to.operand(name)], perm=(0, op.rank + 1, *range(1, op.rank + 1)))


def _stored(op: Windowed) -> list[Step]:
    """From channels second to how the result is stored."""
    return [Step("Transpose", (), {"perm": (0, *range(2, op.rank + 2), 1)})] if op.channels_last else []

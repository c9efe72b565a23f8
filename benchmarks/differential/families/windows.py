"""Convolutions and pools of floats, and what stands behind them in networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.families.normalisations import batch_norm
from benchmarks.differential.net import Net, grown
from benchmarks.differential.windowed import draw_windowed

KINDS = ("Conv", "Conv", "Conv", "Conv", "MaxPool", "AveragePool", "ConvTranspose")


def tiny(net: Net) -> None:
    """A layer whose image may be smaller than its window, with what is often behind one."""
    layer = draw_windowed(net, KINDS)
    x = net.give(net.choices.numpy().standard_normal(layer.shape).astype(np.float32), False)
    operands = [x]
    if layer.weights:
        operands.append(net.new(layer.weights, constant=True))
        if net.chance(0.6):
            operands.append(net.new((layer.filters,), constant=True))
    made = net.add(layer.kind, operands, **layer.attributes)
    if made and net.chance(0.4):
        net.add(net.choice(["Relu", "Sigmoid", "LeakyRelu", "Tanh"]), made)
    if made and net.chance(0.15):
        net.add("Add", [made[0], net.new(net.values[made[0]].shape)])


def window(net: Net, rank: int, largest: int, dilated: bool = True) -> dict[str, Any]:
    """Attributes of a convolution or a pool."""
    kernel = [net.number(1, largest) for _ in range(rank)]
    found: dict[str, Any] = {"kernel_shape": kernel, "strides": [net.number(1, 3) for _ in range(rank)]}
    if net.chance(0.2):
        return found | {"auto_pad": net.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])}
    if dilated and net.chance(0.4):
        found["dilations"] = [net.number(1, 3) for _ in range(rank)]
    return found | {"pads": [net.number(0, size - 1) for size in kernel * 2]}


def conv(net: Net) -> None:
    rank, large = net.choice([1, 2, 2]), net.chance(0.15)
    groups, channels, filters = net.choice([1, 1, 2, 3]), *(net.number(1, 20 if large else 5) for _ in range(2))
    if net.chance(0.25):
        groups, channels, filters = net.number(1, 20), 1, net.number(1, 2)
    sizes = [net.number(1, 33 if large else 12) for _ in range(rank)]
    attributes = window(net, rank, 5)
    x = net.new((net.choice([1, 1, 2, 7]), groups * channels, *sizes))
    w = net.new((groups * filters, channels, *attributes["kernel_shape"]), constant=net.chance(0.8))
    bias = [net.new((groups * filters,))] if net.chance(0.6) else []
    made = net.add("Conv", [x, w, *bias], group=groups, **attributes)
    if made and net.chance(0.4):
        batch_norm(net, made[0])


def conv_transpose(net: Net) -> None:
    rank, groups, channels, filters = net.number(1, 2), net.number(1, 3), net.number(1, 4), net.number(1, 4)
    kernel = [net.number(1, 4) for _ in range(rank)]
    x = net.new((net.number(1, 2), groups * channels, *(net.number(1, 7) for _ in range(rank))))
    w = net.new((groups * channels, filters, *kernel), constant=net.chance(0.8))
    strides = [net.number(1, 3) for _ in range(rank)]
    net.add(
        "ConvTranspose", [x, w], group=groups, strides=strides, dilations=[net.number(1, 2) for _ in range(rank)],
        pads=[net.number(0, 2) for _ in range(2 * rank)], output_padding=[net.number(0, step - 1) for step in strides],
    )  # fmt: skip


def pool(net: Net) -> None:
    rank, kind = net.number(1, 2), net.choice(["MaxPool", "AveragePool"])
    x = net.pick("float32", rank + 2, rank + 2, lambda array: array.size > 0)
    attributes = window(net, rank, 4, net.opset >= (10 if kind == "MaxPool" else 19))
    dilations = attributes.get("dilations", [1] * rank)
    reach = [(size - 1) * step + 1 for size, step in zip(attributes["kernel_shape"], dilations, strict=True)]
    # ONNX Runtime rounds the number of windows that do not fit at all to one.
    if any(size < span for size, span in zip(net.values[x].shape[2:], reach, strict=True)):
        return
    counted = net.number(0, 1) if kind == "AveragePool" else None
    net.add(kind, [x], ceil_mode=net.number(0, 1) if net.opset >= 10 else None, count_include_pad=counted, **attributes)


def global_pool(net: Net) -> None:
    x = net.pick("float32", 3, 4, lambda array: array.size > 0)
    net.add(net.choice(["GlobalAveragePool", "GlobalMaxPool"]), [x])


NODES = {tiny: 8, conv: 4, conv_transpose: 1, pool: 3, global_pool: 1}
"""How often each is tried, relative to the others."""


def draw(choices: Choices, room: int) -> Case:
    return grown(Net(choices, room), NODES, choices.number(1, 3))

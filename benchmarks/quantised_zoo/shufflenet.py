"""ShuffleNet V2: half of the channels pass by, and channels are shuffled. V1: grouped pointwise layers."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import classified, image, relu
from benchmarks.zoo_net import Net

STAGES = ((4, 2), (8, 4), (4, 8))
"""Layers, and how much smaller than after the first layers the image is."""


def v2(net: Net, widths: tuple[int, ...]) -> str:
    """Channels of the three stages and of the last layer."""
    x, side = _first(net)
    for width, (count, smaller) in zip(widths, STAGES, strict=False):
        for number in range(count):
            x = _unit(net, x, width, side // smaller, number == 0)
    return classified(net, relu(net, net.conv(x, widths[3], 1)))


def v1(net: Net, widths: tuple[int, ...], groups: int) -> str:
    x, side = _first(net)
    for width, (count, smaller) in zip(widths, STAGES, strict=True):
        for number in range(count):
            x = _grouped_unit(net, x, width, groups, side // smaller, number == 0)
    return classified(net, x)


def _first(net: Net) -> tuple[str, int]:
    x = relu(net, net.conv(image(net), 24, 3, 2))
    return net("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 24


def _shuffled(net: Net, x: str, groups: int, side: int) -> str:
    width = net.channels[x]
    parts = net("Transpose", net.reshape(x, 1, groups, width // groups, side, side), perm=[0, 2, 1, 3, 4])
    found = net.reshape(parts, 1, width, side, side)
    net.channels[found] = width
    return found


def _joined(net: Net, first: str, second: str) -> str:
    found = net("Concat", first, second, axis=1)
    net.channels[found] = net.channels[first] + net.channels[second]
    return found


def _branch(net: Net, x: str, width: int, stride: int) -> str:
    x = relu(net, net.conv(x, width, 1))
    return relu(net, net.conv(net.depthwise(x, 3, stride), width, 1))


def _unit(net: Net, x: str, width: int, side: int, down: bool) -> str:
    half = width // 2
    if down:
        passed = relu(net, net.conv(net.depthwise(x, 3, 2), half, 1))
        return _shuffled(net, _joined(net, passed, _branch(net, x, half, 2)), 2, side)
    parts = [
        net("Slice", x, *(net.constant([value], "int64") for value in (start, start + half, 1))) for start in (0, half)
    ]
    for part in parts:
        net.channels[part] = half
    return _shuffled(net, _joined(net, parts[0], _branch(net, parts[1], half, 1)), 2, side)


def _grouped_unit(net: Net, x: str, width: int, groups: int, side: int, down: bool) -> str:
    before = net.channels[x]
    inner, outer = width // 4, width - before if down else width
    found = relu(net, net.conv(x, inner, 1, group=1 if before == 24 else groups))
    found = _shuffled(net, found, groups, 2 * side if down else side)
    found = net.conv(net.depthwise(found, 3, 2 if down else 1), outer, 1, group=groups)
    if not down:
        return relu(net, net("Add", x, found))
    passed = net("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)
    return relu(net, _joined(net, passed, found))

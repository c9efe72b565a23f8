"""MobileNet V1 (depthwise and pointwise in turn) and V2 (inverted residuals)."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import classified, image, relu6, scaled
from benchmarks.zoo_net import Net

V1 = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
"""Channels and stride of each pair."""
V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, channels, layers and first stride of each stage."""


def v1(net: Net, multiplier: float) -> str:
    x = relu6(net, net.conv(image(net), scaled(32, multiplier), 3, 2))
    for width, stride in V1:
        x = relu6(net, net.depthwise(x, 3, stride))
        x = relu6(net, net.conv(x, scaled(width, multiplier), 1))
    return classified(net, x)


def v2(net: Net, multiplier: float) -> str:
    x = relu6(net, net.conv(image(net), scaled(32, multiplier), 3, 2))
    for expansion, width, count, first in V2:
        for number in range(count):
            x = _inverted(net, x, expansion, scaled(width, multiplier), 1 if number else first)
    return classified(net, relu6(net, net.conv(x, scaled(1280, min(1.0, 2 * multiplier)), 1)))


def _inverted(net: Net, x: str, expansion: int, width: int, stride: int) -> str:
    inner = x if expansion == 1 else relu6(net, net.conv(x, net.channels[x] * expansion, 1))
    inner = relu6(net, net.depthwise(inner, 3, stride))
    outer = net.conv(inner, width, 1)
    return net("Add", x, outer) if stride == 1 and net.channels[x] == width else outer

"""EfficientNet B0 (SiLU, squeeze and excitation) and Lite0 (ReLU6, without)."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import Activation, classified, excited, image, relu6, scaled, silu
from benchmarks.zoo_net import Net

STAGES = (
    (1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2), (6, 5, 112, 3, 1), (6, 5, 192, 4, 2),
    (6, 3, 320, 1, 1),
)  # fmt: skip
"""Expansion, window, channels, layers and first stride of each."""


def b0(net: Net, multiplier: float) -> str:
    return _network(net, multiplier, silu, True)


def lite0(net: Net, multiplier: float) -> str:
    return _network(net, multiplier, relu6, False)


def _network(net: Net, multiplier: float, activation: Activation, is_excited: bool) -> str:
    x = activation(net, net.conv(image(net), scaled(32, multiplier), 3, 2))
    for expansion, window, width, count, first in STAGES:
        for number in range(count):
            entered, stride, narrow = x, 1 if number else first, scaled(width, multiplier)
            squeezed = max(4, net.channels[x] // 4)
            if expansion > 1:
                x = activation(net, net.conv(x, net.channels[x] * expansion, 1))
            x = activation(net, net.depthwise(x, window, stride))
            if is_excited:
                x = excited(net, x, squeezed, activation)
            x = net.conv(x, narrow, 1)
            x = net("Add", x, entered) if stride == 1 and net.channels[entered] == narrow else x
    return classified(net, activation(net, net.conv(x, scaled(1280, multiplier), 1)))

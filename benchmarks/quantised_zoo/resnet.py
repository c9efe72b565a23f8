"""ResNet with basic blocks (18) and with bottlenecks (50)."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import classified, image, relu, scaled
from benchmarks.zoo_net import Net

SHALLOW, DEEP = (2, 2, 2, 2), (3, 4, 6, 3)
"""Blocks of each stage."""


def resnet18(net: Net, multiplier: float) -> str:
    return _network(net, SHALLOW, multiplier, False)


def resnet50(net: Net, multiplier: float) -> str:
    return _network(net, DEEP, multiplier, True)


def _network(net: Net, stages: tuple[int, ...], multiplier: float, bottlenecks: bool) -> str:
    x = relu(net, net.conv(image(net), scaled(64, multiplier), 7, 2))
    x = net("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage, count in enumerate(stages):
        for number in range(count):
            width, stride = scaled(64 * 2**stage, multiplier), 2 if stage and not number else 1
            x = _block(net, x, width, stride, bottlenecks)
    return classified(net, x)


def _block(net: Net, x: str, width: int, stride: int, bottleneck: bool) -> str:
    outer = 4 * width if bottleneck else width
    if bottleneck:
        inner = relu(net, net.conv(relu(net, net.conv(x, width, 1)), width, 3, stride))
        found = net.conv(inner, outer, 1)
    else:
        found = net.conv(relu(net, net.conv(x, width, 3, stride)), width, 3)
    passed = x if stride == 1 and net.channels[x] == outer else net.conv(x, outer, 1, stride)
    return relu(net, net("Add", found, passed))

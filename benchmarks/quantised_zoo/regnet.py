"""RegNet X and Y (with squeeze and excitation): bottlenecks with grouped 3 x 3 convolutions."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import classified, excited, image, relu
from benchmarks.zoo_net import Net

X, Y = ((24, 1), (56, 1), (152, 4), (368, 7)), ((24, 1), (56, 1), (152, 4), (368, 7))
"""Channels and layers of the stages of the networks of 200 MFLOP."""


def x(net: Net, multiplier: float, group_width: int) -> str:
    return _network(net, X, multiplier, group_width, False)


def y(net: Net, multiplier: float, group_width: int) -> str:
    return _network(net, Y, multiplier, group_width, True)


def _network(net: Net, stages: tuple[tuple[int, int], ...], multiplier: float, group_width: int, se: bool) -> str:
    found = relu(net, net.conv(image(net), 32, 3, 2))
    for width, count in stages:
        whole = max(1, round(width * multiplier / group_width)) * group_width
        for number in range(count):
            found = _block(net, found, whole, group_width, 1 if number else 2, se)
    return classified(net, found)


def _block(net: Net, entered: str, width: int, group_width: int, stride: int, se: bool) -> str:
    found = relu(net, net.conv(entered, width, 1))
    found = relu(net, net.conv(found, width, 3, stride, group=width // group_width))
    if se:
        found = excited(net, found, max(4, net.channels[entered] // 4))
    found = net.conv(found, width, 1)
    is_same = stride == 1 and net.channels[entered] == width
    return relu(net, net("Add", found, entered if is_same else net.conv(entered, width, 1, stride)))

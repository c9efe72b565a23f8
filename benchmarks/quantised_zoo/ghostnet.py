"""GhostNet: half of each layer's channels are a cheap depthwise convolution of the other half."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import Activation, as_it_is, classified, excited, hard_sigmoid, image, relu, scaled
from benchmarks.zoo_net import Net

BLOCKS = (
    (3, 16, 16, False, 1), (3, 48, 24, False, 2), (3, 72, 24, False, 1), (5, 72, 40, True, 2), (5, 120, 40, True, 1),
    (3, 240, 80, False, 2), (3, 200, 80, False, 1), (3, 184, 80, False, 1), (3, 184, 80, False, 1),
    (3, 480, 112, True, 1), (3, 672, 112, True, 1), (5, 672, 160, True, 2), (5, 960, 160, False, 1),
    (5, 960, 160, True, 1), (5, 960, 160, False, 1), (5, 960, 160, True, 1),
)  # fmt: skip
"""Window, inner channels, channels, whether excited, stride."""


def ghostnet(net: Net, multiplier: float) -> str:
    x = relu(net, net.conv(image(net), scaled(16, multiplier, 4), 3, 2))
    for window, inner, width, is_excited, stride in BLOCKS:
        x = _block(net, x, window, scaled(inner, multiplier, 4), scaled(width, multiplier, 4), is_excited, stride)
    return classified(net, relu(net, net.conv(x, scaled(960, multiplier, 4), 1)))


def _ghosts(net: Net, x: str, width: int, activation: Activation) -> str:
    own = activation(net, net.conv(x, width // 2, 1))
    found = net("Concat", own, activation(net, net.depthwise(own, 3)), axis=1)
    net.channels[found] = width
    return found


def _block(net: Net, x: str, window: int, inner: int, width: int, is_excited: bool, stride: int) -> str:
    found = _ghosts(net, x, inner, relu)
    if stride > 1:
        found = net.depthwise(found, window, stride)
    if is_excited:
        found = excited(net, found, scaled(inner / 4, 1, 4), relu, hard_sigmoid)
    found = _ghosts(net, found, width, as_it_is)
    if stride > 1 or net.channels[x] != width:
        x = net.conv(net.depthwise(x, window, stride), width, 1)
    return net("Add", found, x)

"""DenseNet: each layer's channels are joined to those of all before it, and normalised before they are read."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import classified, image, relu
from benchmarks.zoo_net import Net


def densenet(net: Net, growth: int, blocks: tuple[int, ...]) -> str:
    x = relu(net, net.norm(net.conv(image(net), 2 * growth, 7, 2)))
    x = net("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for number, layers in enumerate(blocks):
        for _ in range(layers):
            x = _grown(net, x, growth)
        if number < len(blocks) - 1:
            x = net.conv(relu(net, net.norm(x)), net.channels[x] // 2, 1)
            x = net("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    return classified(net, relu(net, net.norm(x)))


def _grown(net: Net, x: str, growth: int) -> str:
    inner = relu(net, net.norm(net.conv(relu(net, net.norm(x)), 4 * growth, 1)))
    found = net("Concat", x, net.conv(inner, growth, 3), axis=1)
    net.channels[found] = net.channels[x] + growth
    return found

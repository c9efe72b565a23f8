"""ConvNeXt: 7 x 7 depthwise windows, layer norm over channels, GELU."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import gelu, image, layer_norm, layer_norm_of_channels, scores
from benchmarks.zoo_net import Net

DEPTHS = (2, 2, 6, 2)
"""Of atto and femto."""


def convnext(net: Net, width: int) -> str:
    """Channels of the first stage; each other has twice as many as the one before."""
    x = layer_norm_of_channels(net, net.conv(image(net), width, 4, 4, same=False))
    for stage, count in enumerate(DEPTHS):
        if stage:
            x = net.conv(layer_norm_of_channels(net, x), width * 2**stage, 2, 2, same=False)
        for _ in range(count):
            x = _block(net, x)
    width = net.channels[x]
    pooled = net("Flatten", net("GlobalAveragePool", x))
    return scores(net, layer_norm(net, pooled, width), width)


def _block(net: Net, x: str) -> str:
    width = net.channels[x]
    last = net("Transpose", net.depthwise(x, 7), perm=[0, 2, 3, 1])
    inner = gelu(net, net.linear(layer_norm(net, last, width), width, 4 * width))
    scale = net("Mul", net.linear(inner, 4 * width, width), net.near_one(width))
    return net("Add", x, net("Transpose", scale, perm=[0, 3, 1, 2]))

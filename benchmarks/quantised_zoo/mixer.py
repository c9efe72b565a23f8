"""Without attention: MLP-Mixer (products over tokens and over channels) and ConvMixer (large depthwise windows)."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import (
    SIDE,
    classified,
    feed_forward,
    gelu,
    image,
    layer_norm,
    scores,
)
from benchmarks.zoo_net import Net


def mlp_mixer(net: Net, width: int, depth: int, patch: int = 16) -> str:
    tokens = (SIDE // patch) ** 2
    x = net.conv(image(net), width, patch, patch, same=False)
    x = net("Transpose", net.reshape(x, 1, width, tokens), perm=[0, 2, 1])
    for _ in range(depth):
        turned = net("Transpose", layer_norm(net, x, width), perm=[0, 2, 1])
        mixed = feed_forward(net, turned, tokens, width // 2)
        x = net("Add", x, net("Transpose", mixed, perm=[0, 2, 1]))
        x = net("Add", x, feed_forward(net, layer_norm(net, x, width), width, 4 * width))
    return scores(net, net("ReduceMean", layer_norm(net, x, width), axes=[1], keepdims=0), width)


def conv_mixer(net: Net, width: int, depth: int, window: int, patch: int) -> str:
    x = gelu(net, net.conv(image(net), width, patch, patch, same=False))
    for _ in range(depth):
        x = net("Add", gelu(net, net.depthwise(x, window)), x)
        x = gelu(net, net.conv(x, width, 1))
    return classified(net, x)

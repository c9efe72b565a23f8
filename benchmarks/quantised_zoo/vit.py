"""Vision transformers: ViT with patches of 16 x 16, and one with a stem of convolutions and the mean of all tokens."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import SIDE, encoder_layer, image, layer_norm, relu, scores
from benchmarks.zoo_net import Net

PATCH = 16
PATCHES = (SIDE // PATCH) ** 2


def vit(net: Net, width: int, heads: int, depth: int) -> str:
    """A token for the class before those of the patches."""
    x = _tokens(net, net.conv(image(net), width, PATCH, PATCH, same=False), width)
    x = net("Add", net("Concat", net.weights(1, 1, width), x, axis=1), net.weights(1, PATCHES + 1, width))
    for _ in range(depth):
        x = encoder_layer(net, x, PATCHES + 1, width, heads, 4 * width)
    first = net("Gather", layer_norm(net, x, width), net.constant(0, "int64"), axis=1)
    return scores(net, first, width)


def convolutional(net: Net, width: int, heads: int, depth: int) -> str:
    """Four 3 x 3 convolutions instead of patches."""
    x = image(net)
    for share in (8, 4, 2):
        x = relu(net, net.conv(x, width // share, 3, 2))
    x = _tokens(net, net.conv(x, width, 3, 2), width)
    for _ in range(depth):
        x = encoder_layer(net, x, PATCHES, width, heads, 2 * width)
    return scores(net, net("ReduceMean", layer_norm(net, x, width), axes=[1], keepdims=0), width)


def _tokens(net: Net, x: str, width: int) -> str:
    return net("Transpose", net.reshape(x, 1, width, PATCHES), perm=[0, 2, 1])

"""What several families are built of."""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarks.zoo_net import Net

SIDE, CLASSES = 96, 100
Activation = Callable[[Net, str], str]


def image(net: Net) -> str:
    return net.input(1, 3, SIDE, SIDE)


def scaled(width: float, multiplier: float, unit: int = 8) -> int:
    """Channels times a multiplier, in whole units and not more than a tenth fewer than asked for."""
    wanted = width * multiplier
    rounded = max(unit, int(wanted + unit / 2) // unit * unit)
    return rounded if rounded >= 0.9 * wanted else rounded + unit


def relu(net: Net, x: str) -> str:
    return net("Relu", x)


def relu6(net: Net, x: str) -> str:
    return net("Clip", x, net.constant(0.0), net.constant(6.0))


def silu(net: Net, x: str) -> str:
    return net("Mul", x, net("Sigmoid", x))


def hard_swish(net: Net, x: str) -> str:
    return net("HardSwish", x)


def hard_sigmoid(net: Net, x: str) -> str:
    return net("HardSigmoid", x, alpha=1 / 6, beta=0.5)


def sigmoid(net: Net, x: str) -> str:
    return net("Sigmoid", x)


def gelu(net: Net, x: str) -> str:
    """As PyTorch's exporter writes it."""
    erf = net("Erf", net("Div", x, net.constant(math.sqrt(2))))
    return net("Mul", net("Mul", x, net("Add", erf, net.constant(1.0))), net.constant(0.5))


def as_it_is(net: Net, x: str) -> str:
    return x


def excited(net: Net, x: str, squeezed: int, activation: Activation = relu, gate: Activation = sigmoid) -> str:
    """Squeeze and excitation: channels times what two layers make of their means."""
    channels = net.channels[x]
    inner = activation(net, net.conv(net("GlobalAveragePool", x), squeezed, 1))
    return net("Mul", x, gate(net, net.conv(inner, channels, 1)))


def layer_norm(net: Net, x: str, width: int) -> str:
    """Over the last axis."""
    return net("LayerNormalization", x, net.near_one(width), net.weights(width, fan=4), axis=-1, epsilon=1e-6)


def layer_norm_of_channels(net: Net, x: str) -> str:
    """Over the channels of an image, as exporters write it: transposed and back."""
    width = net.channels[x]
    last = net("Transpose", x, perm=[0, 2, 3, 1])
    found = net("Transpose", layer_norm(net, last, width), perm=[0, 3, 1, 2])
    net.channels[found] = width
    return found


def attention(net: Net, x: str, tokens: int, width: int, heads: int) -> str:
    """Of each token with all, from one product for queries, keys and values."""
    joined = net.reshape(net.linear(x, width, 3 * width), -1, tokens, 3, heads, width // heads)
    parts = net("Transpose", joined, perm=[2, 0, 3, 1, 4])
    q, k, v = (net("Gather", parts, net.constant(part, "int64"), axis=0) for part in range(3))
    scores = net(
        "MatMul", net("Mul", q, net.constant((width // heads) ** -0.5)), net("Transpose", k, perm=[0, 1, 3, 2])
    )
    mixed = net("MatMul", net("Softmax", scores, axis=-1), v)
    return net.linear(net.reshape(net("Transpose", mixed, perm=[0, 2, 1, 3]), -1, tokens, width), width, width)


def feed_forward(net: Net, x: str, width: int, inner: int, activation: Activation = gelu) -> str:
    return net.linear(activation(net, net.linear(x, width, inner)), inner, width)


def encoder_layer(
    net: Net, x: str, tokens: int, width: int, heads: int, inner: int, activation: Activation = gelu
) -> str:
    x = net("Add", x, attention(net, layer_norm(net, x, width), tokens, width, heads))
    return net("Add", x, feed_forward(net, layer_norm(net, x, width), width, inner, activation))


def classified(net: Net, x: str) -> str:
    """Scores of classes from the mean of an image."""
    pooled = net("Flatten", net("GlobalAveragePool", x))
    return scores(net, pooled, net.channels[x])


def scores(net: Net, x: str, width: int, classes: int = CLASSES) -> str:
    return net("Gemm", x, net.weights(classes, width), net.weights(classes, fan=4), transB=1)

"""Networks as people build them, in random sizes: each function grows one and names its outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from benchmarks.zoo_net import Net
from onnx import TensorProto

VOCABULARY = 50
"""Indices that networks take are below this."""


def image(net: Net, least: int = 8, most: int = 24) -> str:
    return net.input(
        net.pick(1, 1, 1, 2, 3), net.pick(1, 3, 3, 4, 7), net.between(least, most), net.between(least, most)
    )


def bottlenecks(net: Net) -> list[str]:
    """ResNet with bottlenecks and projections."""
    x = net("Relu", net.norm(net.conv(image(net), net.pick(8, 16, 20), net.pick(3, 5, 7), 2)))
    for _ in range(net.between(1, 3)):
        narrow, stride = net.pick(4, 6, 8), net.pick(1, 1, 2)
        inner = net("Relu", net.norm(net.conv(x, narrow, 1)))
        inner = net("Relu", net.norm(net.conv(inner, narrow, 3, stride)))
        outer = net.norm(net.conv(inner, narrow * 4, 1))
        x = net("Relu", net("Add", outer, net.norm(net.conv(x, narrow * 4, 1, stride))))
    return [net.head(x, net.pick(3, 10, 17))]


def mobilenet1(net: Net) -> list[str]:
    x = net("Relu", net.norm(net.conv(image(net), net.pick(5, 8, 12), 3, 2)))
    for _ in range(net.between(1, 4)):
        x = net("Relu", net.norm(net.depthwise(x, net.pick(3, 3, 5), net.pick(1, 2))))
        x = net("Relu", net.norm(net.conv(x, net.pick(9, 16, 24, 33), 1)))
    return [net.head(x, net.pick(2, 10))]


def mobilenet2(net: Net) -> list[str]:
    x = net.conv(image(net), net.pick(6, 8, 16), 3, 2)
    for _ in range(net.between(1, 3)):
        wide = net.channels[x] * net.pick(2, 3, 6)
        inner = net("Clip", net.norm(net.conv(x, wide, 1)), net.constant(0.0), net.constant(6.0))
        inner = net("Clip", net.norm(net.depthwise(inner, 3)), net.constant(0.0), net.constant(6.0))
        x = net("Add", x, net.norm(net.conv(inner, net.channels[x], 1)))
    return [net.head(x, net.pick(2, 11))]


def squeeze_excite(net: Net, x: str) -> str:
    channels = net.channels[x]
    gate = net.conv(net("Relu", net.conv(net("GlobalAveragePool", x), max(channels // 4, 1), 1)), channels, 1)
    return net("Mul", x, net(net.pick("HardSigmoid", "Sigmoid"), gate))


def mobilenet3(net: Net) -> list[str]:
    x = net("HardSwish", net.norm(net.conv(image(net), net.pick(7, 8), 3, 2)))
    for _ in range(net.between(1, 3)):
        inner = net("HardSwish", net.norm(net.conv(x, net.channels[x] * net.pick(2, 3), 1)))
        inner = net("HardSwish", net.norm(net.depthwise(inner, net.pick(3, 5))))
        x = net("Add", x, net.norm(net.conv(squeeze_excite(net, inner), net.channels[x], 1)))
    return [net.head(x, 10)]


def inception(net: Net) -> list[str]:
    x = net.activation(net.conv(image(net), 8))
    for _ in range(net.between(1, 3)):
        widths = [net.pick(3, 4, 5, 8) for _ in range(4)]
        branches = [
            net("Relu", net.conv(x, widths[0], 1)),
            net("Relu", net.conv(net("Relu", net.conv(x, 4, 1)), widths[1], 3)),
            net("Relu", net.conv(net.conv(x, 3, 1), widths[2], net.pick(5, (1, 7), (3, 1)))),
            net.conv(
                net(net.pick("MaxPool", "AveragePool"), x, kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1]),
                widths[3], 1,
            ),
        ]  # fmt: skip
        x = net("Concat", *branches, axis=1)
        net.channels[x] = sum(widths)
    return [net.head(x, 6)]


def unet(net: Net) -> list[str]:
    size = 4 * net.between(2, 6)
    x, skips = net.input(1, net.pick(1, 3), size, size), []
    for width in (6, 10):
        x = net("Relu", net.norm(net.conv(x, width)))
        skips.append(x)
        x = net("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net("Relu", net.conv(x, 12))
    for skip in reversed(skips):
        width = net.channels[skip]
        if net.random.random() < 0.5:
            mode = net.pick("nearest", "linear")
            scales = net.constant([1, 1, 2, 2])
            how = "asymmetric" if mode == "nearest" else net.pick("half_pixel", "align_corners")
            up = net.conv(net("Resize", x, "", scales, mode=mode, coordinate_transformation_mode=how,
                              nearest_mode="floor"), width, 1)  # fmt: skip
        else:
            up = net("ConvTranspose", x, net.weights(net.channels[x], width, 2, 2), strides=[2, 2])
            net.channels[up] = width
        x = net("Concat", up, skip, axis=1)
        net.channels[x] = 2 * width
        x = net("Relu", net.conv(x, width))
    return [net("Sigmoid", net.conv(x, net.pick(1, 2), 1))]


def densenet(net: Net) -> list[str]:
    x = net.conv(image(net), 8)
    for _ in range(net.between(2, 5)):
        grown = net.conv(net("Relu", net.norm(x)), net.pick(3, 4, 6))
        joined = net("Concat", x, grown, axis=1)
        net.channels[joined] = net.channels[x] + net.channels[grown]
        x = joined
    x = net("AveragePool", net.conv(x, 9, 1), kernel_shape=[2, 2], strides=[2, 2])
    return [net.head(x, 5)]


def dilated(net: Net) -> list[str]:
    """Pyramid of dilated convolutions, joined."""
    x = net("Relu", net.conv(image(net, 10, 20), 8))
    branches = [net("Relu", net.conv(x, 5, 3, dilation=rate)) for rate in (1, 2, 3)]
    branches.append(net.depthwise(x, 5, dilation=2))
    x = net("Concat", *branches, axis=1)
    net.channels[x] = 15 + 8
    return [net.conv(x, 4, 1), net.head(x, 3)]


def temporal(net: Net) -> list[str]:
    """One-dimensional, with gates and skips, as for sound."""
    x = net.input(net.pick(1, 2), net.pick(1, 8, 13), net.between(30, 90))
    x = net.conv(x, 12, net.pick(3, 9), rank=1)
    total = ""
    for rate in (1, 2, 4)[: net.between(1, 3)]:
        gated = net("Mul", net("Tanh", net.conv(x, 12, 3, dilation=rate, rank=1)),
                    net("Sigmoid", net.conv(x, 12, 3, dilation=rate, rank=1)))  # fmt: skip
        skip = net.conv(gated, 12, 1, rank=1)
        total = net("Add", total, skip) if total else skip
        x = net("Add", x, skip)
    pooled = net("MaxPool", net("Relu", total), kernel_shape=[3], strides=[2])
    return [net.head(pooled, 7)]


def autoencoder(net: Net) -> list[str]:
    width = net.pick(64, 100, 128)
    sizes = [width, net.pick(48, 33), 16, net.pick(3, 8), 16, 48, width]
    x = net.input(net.pick(1, 4), width)
    for i, (inner, outer) in enumerate(pairwise(sizes)):
        x = net.dense(x, inner, outer)
        x = x if i == len(sizes) - 2 else net.activation(x)
    return [x]


def attention(net: Net, x: str, memory: str, steps: tuple[int, int], width: int, heads: int, causal: bool) -> str:
    def split(name: str, length: int) -> str:
        return net("Transpose", net.reshape(name, 1, length, heads, width // heads), perm=[0, 2, 1, 3])

    q = split(net.linear(x, width, width), steps[0])
    k, v = (split(net.linear(memory, width, width), steps[1]) for _ in range(2))
    scores = net("MatMul", q, net("Transpose", k, perm=[0, 1, 3, 2]))
    scores = net("Div", scores, net.constant(math.sqrt(width // heads)))
    if causal:
        scores = net("Add", scores, net.constant(np.triu(np.full((steps[0], steps[1]), -8.0), 1)))
    mixed = net("MatMul", net("Softmax", scores, axis=-1), v)
    joined = net.reshape(net("Transpose", mixed, perm=[0, 2, 1, 3]), 1, steps[0], width)
    return net.linear(joined, width, width)


def layer_norm(net: Net, x: str, width: int) -> str:
    return net("LayerNormalization", x, net.near_one(width), net.weights(width, fan=4), axis=-1)


def feed_forward(net: Net, x: str, width: int) -> str:
    inner = net.linear(x, width, 2 * width)
    kind = net.pick("Relu", "Gelu", "Tanh")
    if kind == "Gelu":
        half = net("Mul", inner, net.constant(0.5))
        erf = net("Erf", net("Div", inner, net.constant(math.sqrt(2))))
        return net.linear(net("Mul", half, net("Add", erf, net.constant(1.0))), 2 * width, width)
    return net.linear(net(kind, inner), 2 * width, width)


def encoder(net: Net) -> list[str]:
    heads = net.pick(1, 2, 3, 4)
    width, steps = heads * net.pick(4, 8, 12), net.between(5, 24)
    x = net.input(1, steps, width)
    for _ in range(net.between(1, 2)):
        first = net.random.random() < 0.5
        seen = layer_norm(net, x, width) if first else x
        x = net("Add", x, attention(net, seen, seen, (steps, steps), width, heads, False))
        x = x if first else layer_norm(net, x, width)
        x = net("Add", x, feed_forward(net, layer_norm(net, x, width) if first else x, width))
    return [layer_norm(net, x, width)]


def decoder(net: Net) -> list[str]:
    """Tokens, positions, masked attention, attention on a memory, scores for every word."""
    heads = net.pick(1, 2, 4)
    width, steps, seen = heads * 8, net.between(4, 14), net.between(3, 11)
    tokens = net.input(1, steps, dtype=TensorProto.INT64)
    memory = net.input(1, seen, width)
    table = net.weights(VOCABULARY, width, fan=1)
    x = net("Add", net("Gather", table, tokens), net.weights(steps, width, fan=4))
    x = layer_norm(net, net("Add", x, attention(net, x, x, (steps, steps), width, heads, True)), width)
    x = layer_norm(net, net("Add", x, attention(net, x, memory, (steps, seen), width, heads, False)), width)
    x = layer_norm(net, net("Add", x, feed_forward(net, x, width)), width)
    return [net("MatMul", x, net("Transpose", table, perm=[1, 0]))]


def vision_transformer(net: Net) -> list[str]:
    """Patches by a convolution, a token for the class, an encoder, and its first row."""
    patch, count, heads = net.pick(3, 4), net.between(2, 4), 2
    width, steps = heads * 8, count * count + 1
    x = net.input(1, 3, patch * count, patch * count)
    x = net("Conv", x, net.weights(width, 3, patch, patch), strides=[patch] * 2)
    x = net("Transpose", net.reshape(x, 1, width, count * count), perm=[0, 2, 1])
    x = net("Concat", net.weights(1, 1, width), x, axis=1)
    x = net("Add", x, net.weights(1, steps, width))
    seen = layer_norm(net, x, width)
    x = net("Add", x, attention(net, seen, seen, (steps, steps), width, heads, False))
    x = net("Add", x, feed_forward(net, layer_norm(net, x, width), width))
    row = net("Gather", layer_norm(net, x, width), net.constant(0, "int64"), axis=1)
    return [net.dense(row, width, 10)]


def keywords(net: Net) -> list[str]:
    """A spectrogram, depthwise blocks, an average over time."""
    x = net.input(1, 1, net.pick(25, 49), net.pick(10, 13))
    x = net("Relu", net.norm(net.conv(x, 16, (10, 4), 2)))
    for _ in range(net.between(1, 3)):
        x = net.activation(net.norm(net.depthwise(x, 3)))
        x = net.activation(net.norm(net.conv(x, 16, 1)))
    x = net("ReduceMean", x, axes=[2, 3], keepdims=0)
    return [net.dense(x, 16, 12)]


def detector(net: Net) -> list[str]:
    """Features of two scales, joined from the coarse to the fine; boxes and scores of both."""
    size = 8 * net.between(1, 3)
    fine = net("Relu", net.conv(net.input(1, 3, size, size), 10, 3, 2))
    coarse = net("LeakyRelu", net.conv(fine, 14, 3, 2), alpha=0.1)
    up = net("Resize", net.conv(coarse, 10, 1), "", net.constant([1, 1, 2, 2]), mode="nearest",
             coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    joined, outputs = net("Add", fine, up), []
    net.channels[joined] = 10
    for scale in (coarse, joined):
        scores = net("Transpose", net.conv(scale, 6, 3), perm=[0, 2, 3, 1])
        outputs.append(net("Sigmoid", net.reshape(scores, 1, -1, 3)))
    return [net("Concat", *outputs, axis=1), joined]


def shuffled(net: Net) -> list[str]:
    """Groups whose channels are shuffled, and halves of which one is left alone."""
    size, width = net.between(6, 14), 12
    x = net("Relu", net.conv(net.input(1, 3, size, size), width))
    for _ in range(net.between(1, 2)):
        left, right = (
            net("Slice", x, net.constant([at], "int64"), net.constant([at + 6], "int64"), net.constant([1], "int64"))
            for at in (0, 6)
        )
        net.channels[left] = net.channels[right] = 6
        right = net("Relu", net.conv(net.depthwise(net.conv(right, 6, 1, group=2)), 6, 1))
        x = net("Concat", left, right, axis=1)
        net.channels[x] = width
        x = net("Transpose", net.reshape(x, 1, 2, 6, size, size), perm=[0, 2, 1, 3, 4])
        x = net.reshape(x, 1, width, size, size)
        net.channels[x] = width
    return [net.head(x, 4)]


def normalised(net: Net) -> list[str]:
    """Norms that are not of batches, pools of odd shapes, borders that are not zero."""
    x = net.conv(image(net), 8)
    x = net("InstanceNormalization", x, net.near_one(8), net.weights(8, fan=4))
    x = net("Pad", x, net.constant([0, 0, 1, 2, 0, 0, 2, 1], "int64"), mode=net.pick("reflect", "edge", "constant"))
    x = net.conv(net.activation(x), 6, same=False)
    kind = net.pick("MaxPool", "AveragePool")
    x = net(kind, x, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], ceil_mode=net.pick(0, 1))
    x = net("PRelu", x, net.weights(6, 1, 1, fan=4))
    largest = net("ReduceMax", x, axes=[2, 3], keepdims=0)
    mean = net("ReduceMean", x, axes=[2, 3], keepdims=0)
    return [net.dense(net("Concat", largest, mean, axis=1), 12, 5), net("ReduceSum", x, net.constant([1], "int64"))]


def siamese(net: Net) -> list[str]:
    """Two inputs through the same layers, and their distance."""
    size, length = net.between(8, 14), 9
    weights, matrix = net.weights(6, 3, 3, 3), net.weights(6, length, fan=6)
    rows = []
    for _ in range(2):
        x = net("Relu", net("Conv", net.input(1, 3, size, size), weights, pads=[1] * 4, strides=[2, 2]))
        rows.append(net("MatMul", net("Flatten", net("GlobalMaxPool", x)), matrix))
    gap = net("Sub", *rows)
    return [net("Sqrt", net("ReduceSum", net("Mul", gap, gap), net.constant([1], "int64"))), *rows]


def gated_cell(net: Net) -> list[str]:
    """One step of a recurrent cell, whose state comes and goes."""
    width, inner = net.pick(16, 30), net.pick(8, 21)
    x, state = net.input(1, inner), net.input(1, width)
    joined = net("Concat", x, state, axis=1)
    update, reset = (net("Sigmoid", net.dense(joined, inner + width, width)) for _ in range(2))
    candidate = net("Tanh", net.dense(net("Concat", x, net("Mul", reset, state), axis=1), inner + width, width))
    kept = net("Mul", net("Sub", net.constant(1.0), update), state)
    after = net("Add", kept, net("Mul", update, candidate))
    return [net.dense(after, width, 4), after]


NETWORKS: dict[str, Callable[[Net], list[str]]] = {
    grow.__name__: grow
    for grow in (
        bottlenecks, mobilenet1, mobilenet2, mobilenet3, inception, unet, densenet, dilated, temporal, autoencoder,
        encoder, decoder, vision_transformer, keywords, detector, shuffled, normalised, siamese, gated_cell,
    )
}  # fmt: skip

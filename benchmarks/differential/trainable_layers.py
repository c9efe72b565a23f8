"""Layers that learn, each as nodes of ONNX and as calls of PyTorch: images, sequences and rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.differential.choices import Dull
from benchmarks.differential.runtimes import module
from benchmarks.differential.two_forms import TwoForms

Layer = Callable[[TwoForms], None]


def _functional() -> Any:
    return module("torch").nn.functional


# ---- anywhere --------------------------------------------------------------------------------------------------------

CURVES: dict[str, tuple[dict[str, Any], Callable[[Any], Any]]] = {
    "Relu": ({}, lambda x: x.relu()),
    "LeakyRelu": ({"alpha": 0.1}, lambda x: _functional().leaky_relu(x, 0.1)),
    "Tanh": ({}, lambda x: x.tanh()),
    "Sigmoid": ({}, lambda x: x.sigmoid()),
    "HardSwish": ({}, lambda x: _functional().hardswish(x)),
    "HardSigmoid": ({"alpha": 1 / 6, "beta": 0.5}, lambda x: _functional().hardsigmoid(x)),
    "Gelu": ({"approximate": "none"}, lambda x: _functional().gelu(x)),
    "Elu": ({"alpha": 1.0}, lambda x: _functional().elu(x)),
    "Softplus": ({}, lambda x: _functional().softplus(x, threshold=1e9)),
    "Mish": ({}, lambda x: x * _functional().softplus(x, threshold=1e9).tanh()),
}


def curve(net: TwoForms) -> None:
    kind = net.choices.pick_one(list(CURVES))
    attributes, function = CURVES[kind]
    net.at = net.both(kind, [net.at], function, **attributes)


def swish(net: TwoForms) -> None:
    share = net.both("Sigmoid", [net.at], lambda x: x.sigmoid())
    net.at = net.both("Mul", [net.at, share], lambda x, y: x * y)


def clipped(net: TwoForms) -> None:
    output = net.node("Clip", [net.at, net.constant(0.0, "float32"), net.constant(6.0, "float32")])
    net.call([net.at], output, lambda x: x.clamp(0, 6))
    net.at = output


def own_slopes(net: TwoForms) -> None:
    """PRelu: a slope for each channel of an image, or for each element of a row."""
    of_image = len(net.shape) > 2 and not net.is_sequence
    count = net.shape[1] if of_image else net.shape[-1]
    slope = net.weight("slope", count, *([1] * (len(net.shape) - 2) if of_image else ()), around=0.2, spread=0.1)
    net.at = net.both("PRelu", [net.at, slope], lambda x, s: x.clamp(min=0) + s * x.clamp(max=0))


def residual(net: TwoForms, layers: list[Layer], most: int) -> None:
    """Layers that are added to what they read, where they keep its shape, or are multiplied with it."""
    before, shape = net.at, net.shape
    for _ in range(net.choices.number(1, most)):
        net.choices.pick_one(layers)(net)
    if net.shape == shape:
        kind, function = net.choices.pick_one([
            ("Add", lambda x, y: x + y), ("Mul", lambda x, y: x * y), ("Sub", lambda x, y: x - y),
        ])  # fmt: skip
        net.at = net.both(kind, [before, net.at], function)


# ---- images ----------------------------------------------------------------------------------------------------------


def _padding(net: TwoForms, spatial: int, most: int) -> tuple[list[int], list[int]]:
    """As ONNX has it, and as `pad` of PyTorch."""
    if net.choices.chance(0.7):
        before = [net.choices.number(0, most)] * spatial
        behind = before
    else:
        before, behind = ([net.choices.number(0, most) for _ in range(spatial)] for _ in range(2))
    pairs = [side for pair in reversed(list(zip(before, behind, strict=True))) for side in pair]
    return [*before, *behind], pairs


def _sizes(net: TwoForms, kernel: list[int], strides: list[int], pads: list[int], dilations: list[int]) -> list[int]:
    spatial = len(kernel)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    sizes = [
        (net.shape[2 + i] + pads[i] + pads[spatial + i] - spans[i]) // strides[i] + 1 for i in range(spatial)
    ]  # fmt: skip
    if min(sizes) < 1:
        raise Dull("a window that is larger than its image")
    return sizes


def convolution(net: TwoForms) -> None:
    channels, spatial, choose = net.shape[1], len(net.shape) - 2, net.choices
    is_square = choose.chance(0.7)
    kernel = [choose.pick_one([1, 3, 2, 5])] * spatial if is_square else [choose.number(1, 4) for _ in range(spatial)]
    strides = [choose.pick_one([1, 1, 2, 3])] * spatial
    dilations = [choose.pick_one([1, 1, 1, 2])] * spatial
    pads, pairs = _padding(net, spatial, 2)
    groups = choose.pick_one([1, 1, channels, *(g for g in (2, 3, 4) if channels % g == 0)])
    filters = groups * choose.pick_one([1, 1, 2, 3]) if groups > 1 else choose.number(1, 12)
    sizes = _sizes(net, kernel, strides, pads, dilations)
    weight = net.weight("w", filters, channels // groups, *kernel)
    operands = [net.at, weight, *([net.weight("b", filters, spread=0.3)] if choose.chance(0.6) else [])]

    def function(x: Any, w: Any, b: Any = None) -> Any:
        convolve = getattr(_functional(), f"conv{spatial}d")
        return convolve(_functional().pad(x, pairs), w, b, strides, 0, dilations, groups)

    net.at = net.both(
        "Conv", operands, function, kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads, group=groups
    )
    net.shape = (net.shape[0], filters, *sizes)


def depthwise(net: TwoForms) -> None:
    channels, spatial, choose = net.shape[1], len(net.shape) - 2, net.choices
    kernel, strides = [choose.pick_one([3, 3, 5, 2])] * spatial, [choose.pick_one([1, 2])] * spatial
    pads, pairs = _padding(net, spatial, 2)
    sizes = _sizes(net, kernel, strides, pads, [1] * spatial)
    operands = [net.at, net.weight("w", channels, 1, *kernel), net.weight("b", channels, spread=0.3)]

    def function(x: Any, w: Any, b: Any) -> Any:
        convolve = getattr(_functional(), f"conv{spatial}d")
        return convolve(_functional().pad(x, pairs), w, b, strides, 0, 1, channels)

    net.at = net.both("Conv", operands, function, kernel_shape=kernel, strides=strides, pads=pads, group=channels)
    net.shape = (net.shape[0], channels, *sizes)


def transposed(net: TwoForms) -> None:
    channels, spatial, choose = net.shape[1], len(net.shape) - 2, net.choices
    kernel, strides = [choose.number(2, 3)] * spatial, [choose.number(1, 2)] * spatial
    pad, filters = choose.number(0, 1), choose.number(1, 6)
    sizes = [(size - 1) * strides[0] + kernel[0] - 2 * pad for size in net.shape[2:]]
    if min(sizes) < 1 or np.prod(sizes) * filters > 2000:
        raise Dull("a result of no use")
    operands = [net.at, net.weight("w", channels, filters, *kernel), net.weight("b", filters, spread=0.3)]
    net.at = net.both(
        "ConvTranspose", operands,
        lambda x, w, b: getattr(_functional(), f"conv_transpose{spatial}d")(x, w, b, strides, pad),
        kernel_shape=kernel, strides=strides, pads=[pad] * 2 * spatial,
    )  # fmt: skip
    net.shape = (net.shape[0], filters, *sizes)


def pooling(net: TwoForms) -> None:
    spatial, choose = len(net.shape) - 2, net.choices
    kernel, strides = [choose.number(2, 3)] * spatial, [choose.number(1, 2)] * spatial
    pads = [choose.number(0, 1)] * 2 * spatial
    sizes, functional = _sizes(net, kernel, strides, pads, [1] * spatial), _functional() if module("torch") else None
    if choose.chance(0.5):
        pool = getattr(functional, f"max_pool{spatial}d", None)
        net.at = net.both(
            "MaxPool", [net.at], lambda x: pool(x, kernel, strides, pads[0]), kernel_shape=kernel, strides=strides,
            pads=pads,
        )  # fmt: skip
    else:
        counted = choose.number(0, 1)
        pool = getattr(functional, f"avg_pool{spatial}d", None)
        net.at = net.both(
            "AveragePool", [net.at], lambda x: pool(x, kernel, strides, pads[0], False, bool(counted)),
            kernel_shape=kernel, strides=strides, pads=pads, count_include_pad=counted,
        )  # fmt: skip
    net.shape = (*net.shape[:2], *sizes)


def batch_normalisation(net: TwoForms) -> None:
    channels, random = net.shape[1], net.choices.numpy()
    if np.prod(net.shape) == channels:
        raise Dull("statistics of one element")
    scale, bias = net.weight("scale", channels, around=1.0, spread=0.2), net.weight("bias", channels, spread=0.3)
    mean = net.statistic("mean", random.normal(0, 0.3, channels))
    variance = net.statistic("var", random.uniform(0.5, 2.0, channels))

    def function(x: Any, s: Any, b: Any, m: Any, v: Any, is_training: bool) -> Any:
        return _functional().batch_norm(x, m, v, s, b, is_training, 0.1, 1e-5)

    function.has_modes = True  # type: ignore[attr-defined]
    net.at = net.both("BatchNormalization", [net.at, scale, bias, mean, variance], function)


def group_normalisation(net: TwoForms) -> None:
    channels = net.shape[1]
    groups = net.choices.pick_one([g for g in range(1, channels + 1) if channels % g == 0])
    if channels // groups * int(np.prod(net.shape[2:])) < 4:
        raise Dull("groups of nearly nothing")
    scale, bias = net.weight("scale", channels, around=1.0, spread=0.2), net.weight("bias", channels, spread=0.3)
    if groups == channels and net.choices.chance(0.5):
        net.at = net.both(
            "InstanceNormalization", [net.at, scale, bias], lambda x, s, b: _functional().group_norm(x, groups, s, b)
        )
        return
    net.at = net.both(
        "GroupNormalization", [net.at, scale, bias], lambda x, s, b: _functional().group_norm(x, groups, s, b),
        num_groups=groups,
    )  # fmt: skip


def squeezed(net: TwoForms) -> None:
    """Channels that their own means weigh."""
    before, shape, spatial = net.at, net.shape, len(net.shape) - 2
    net.at = net.both("GlobalAveragePool", [net.at], lambda x: x.mean(tuple(range(2, x.dim())), keepdim=True))
    few = net.choices.number(1, 4)
    for filters, channels in ((few, shape[1]), (shape[1], few)):
        operands = [net.at, net.weight("w", filters, channels, *([1] * spatial)), net.weight("b", filters, spread=0.3)]
        net.at = net.both("Conv", operands, lambda x, w, b: getattr(_functional(), f"conv{spatial}d")(x, w, b))
        if filters == few:
            net.at = net.both("Relu", [net.at], lambda x: x.relu())
    net.at = net.both("Sigmoid", [net.at], lambda x: x.sigmoid())
    net.at = net.both("Mul", [before, net.at], lambda x, y: x * y)


def joined(net: TwoForms) -> None:
    """Two convolutions of one image, side by side."""
    before, shape, found = net.at, net.shape, list[str]()
    filters = [net.choices.number(1, 5) for _ in range(2)]
    spatial = len(shape) - 2
    for count in filters:
        operands = [before, net.weight("w", count, shape[1], *([1] * spatial))]
        found.append(net.both("Conv", operands, lambda x, w: getattr(_functional(), f"conv{spatial}d")(x, w)))
    net.at = net.both("Concat", found, lambda *parts: module("torch").cat(parts, 1), axis=1)
    net.shape = (shape[0], sum(filters), *shape[2:])


def enlarged(net: TwoForms) -> None:
    if np.prod(net.shape[1:]) > 500:
        raise Dull("an image that is large already")
    spatial = len(net.shape) - 2
    output = net.node(
        "Resize", [net.at, "", net.constant([1, 1] + [2] * spatial, "float32")], mode="nearest",
        coordinate_transformation_mode="asymmetric", nearest_mode="floor",
    )  # fmt: skip
    net.call([net.at], output, lambda x: _functional().interpolate(x, scale_factor=2.0, mode="nearest"))
    net.at, net.shape = output, (*net.shape[:2], *(2 * size for size in net.shape[2:]))


IMAGE: dict[Layer, int] = {
    convolution: 6, depthwise: 4, curve: 5, pooling: 3, batch_normalisation: 3, group_normalisation: 2, squeezed: 1,
    transposed: 1, joined: 1, swish: 1, clipped: 1, own_slopes: 1, enlarged: 1,
    lambda net: residual(net, [convolution, depthwise, curve, batch_normalisation, group_normalisation], 3): 3,
}  # fmt: skip


def as_row(net: TwoForms) -> None:
    """An image as a row: its means, its maxima, or all of it."""
    kind = net.choices.pick_one(["GlobalAveragePool", "Flatten", "GlobalMaxPool"])
    if kind != "Flatten":
        axes = tuple(range(2, len(net.shape)))
        means = kind == "GlobalAveragePool"
        net.at = net.both(kind, [net.at], lambda x: x.mean(axes, keepdim=True) if means else x.amax(axes, keepdim=True))
        net.shape = (*net.shape[:2], *(1 for _ in axes))
    net.at = net.both("Flatten", [net.at], lambda x: x.flatten(1))
    net.shape = (net.shape[0], int(np.prod(net.shape[1:])))


# ---- sequences and rows ----------------------------------------------------------------------------------------------


def linear(net: TwoForms) -> None:
    head(net, net.choices.number(1, 16))


def head(net: TwoForms, width: int) -> None:
    """A product with a matrix, as exporters write it."""
    features = net.shape[-1]
    if len(net.shape) == 2 and net.choices.chance(0.6):
        operands = [net.at, net.weight("w", width, features), net.weight("b", width, spread=0.3)]
        net.at = net.both("Gemm", operands, lambda x, w, b: _functional().linear(x, w, b), transB=1)
    else:
        operands = [net.at, net.weight("w", features, width, spread=features**-0.5)]
        net.at = net.both("MatMul", operands, lambda x, w: x @ w)
        net.at = net.both("Add", [net.at, net.weight("b", width, spread=0.3)], lambda x, b: x + b)
    net.shape = (*net.shape[:-1], width)


def layer_normalisation(net: TwoForms) -> None:
    width = net.shape[-1]
    if width < 4:
        raise Dull("rows of nearly nothing")
    scale, bias = net.weight("scale", width, around=1.0, spread=0.2), net.weight("bias", width, spread=0.3)
    net.at = net.both(
        "LayerNormalization", [net.at, scale, bias], lambda x, s, b: _functional().layer_norm(x, (width,), s, b),
        axis=-1, epsilon=1e-5,
    )  # fmt: skip


def attention(net: TwoForms) -> None:
    """Of a sequence to itself."""
    batch, tokens, features = net.shape
    heads, width = net.choices.pick_one([1, 2, 3]), net.choices.pick_one([2, 4, 5])
    before, shape, parts = net.at, (batch, tokens, heads, width), list[str]()
    for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        weight = net.weight("w", features, heads * width, spread=features**-0.5)
        made = net.both("MatMul", [before, weight], lambda x, w: x @ w)
        made = net.both("Reshape", [made], lambda x: x.reshape(shape), [shape])
        parts.append(net.both("Transpose", [made], lambda x, order=order: x.permute(order), perm=order))
    query, key, value = parts
    scores = net.both("MatMul", [query, key], lambda x, y: x @ y)
    scale = net.constant(width**-0.5, "float32")
    scaled = net.node("Mul", [scores, scale])
    net.call([scores], scaled, lambda x: x * float(np.float32(width**-0.5)))
    shares = net.both("Softmax", [scaled], lambda x: x.softmax(-1), axis=-1)
    mixed = net.both("MatMul", [shares, value], lambda x, y: x @ y)
    mixed = net.both("Transpose", [mixed], lambda x: x.permute(0, 2, 1, 3), perm=[0, 2, 1, 3])
    flat = (batch, tokens, heads * width)
    mixed = net.both("Reshape", [mixed], lambda x: x.reshape(flat), [flat])
    out = net.weight("w", heads * width, features, spread=(heads * width) ** -0.5)
    net.at = net.both("MatMul", [mixed, out], lambda x, w: x @ w)


GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}


def recurrent(net: TwoForms) -> None:
    batch, tokens, features = net.shape
    kind, width = net.choices.pick_one(list(GATES)), net.choices.number(1, 8)
    gates = GATES[kind]
    operands = [
        net.weight("w", 1, gates * width, features, spread=features**-0.5),
        net.weight("r", 1, gates * width, width, spread=width**-0.5), net.weight("b", 1, 2 * gates * width, spread=0.2),
    ]  # fmt: skip
    by_time = net.node("Transpose", [net.at], perm=[1, 0, 2])
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    made = net.node(kind, [by_time, *operands], hidden_size=width, **more)
    # [time, directions, batch, width] as [batch, time, width]
    made = net.node("Squeeze", [made, net.constant([1])])
    output = net.node("Transpose", [made], perm=[1, 0, 2])
    cell = {"GRU": _gru, "LSTM": _lstm, "RNN": _rnn}[kind]

    def function(x: Any, w: Any, r: Any, b: Any) -> Any:
        torch = module("torch")
        state = [x.new_zeros(batch, width)] * 2
        found = []
        for at in range(tokens):
            state = cell(x[:, at] @ w[0].T + b[0, : gates * width], r[0], b[0, gates * width :], state)
            found.append(state[0])
        return torch.stack(found, 1)

    net.call([net.at, *operands], output, function)
    net.at, net.shape = output, (batch, tokens, width)


def _gru(of_input: Any, r: Any, b: Any, state: list[Any]) -> list[Any]:
    (h, _), (zx, rx, hx) = state, of_input.chunk(3, -1)
    zh, rh, hh = (h @ r.T + b).chunk(3, -1)
    update, reset = (zx + zh).sigmoid(), (rx + rh).sigmoid()
    return [(1 - update) * (hx + reset * hh).tanh() + update * h, h]


def _lstm(of_input: Any, r: Any, b: Any, state: list[Any]) -> list[Any]:
    h, c = state
    into, out, forget, new = (of_input + h @ r.T + b).chunk(4, -1)
    c = forget.sigmoid() * c + into.sigmoid() * new.tanh()
    return [out.sigmoid() * c.tanh(), c]


def _rnn(of_input: Any, r: Any, b: Any, state: list[Any]) -> list[Any]:
    return [(of_input + state[0] @ r.T + b).tanh(), state[0]]


def places(net: TwoForms) -> None:
    """A number for each place and feature that is added."""
    net.at = net.both("Add", [net.at, net.weight("p", *net.shape[1:], spread=0.2)], lambda x, p: x + p)


def along_time(net: TwoForms) -> None:
    """A convolution over the sequence, with features as channels."""
    for layer in (_turned, net.choices.pick_one([convolution, depthwise]), _turned):
        layer(net)


def _turned(net: TwoForms) -> None:
    net.is_sequence = not net.is_sequence
    net.at = net.both("Transpose", [net.at], lambda x: x.transpose(1, 2), perm=[0, 2, 1])
    net.shape = (net.shape[0], net.shape[2], net.shape[1])


def embedded(net: TwoForms, words: int) -> None:
    """Numbers of words as rows of a table."""
    width = net.choices.number(2, 8)
    table = net.weight("table", words, width, spread=1.0)
    net.at = net.both("Gather", [table, net.at], lambda t, x: t[x], axis=0)
    net.shape = (*net.shape, width)


SEQUENCE: dict[Layer, int] = {
    linear: 4, curve: 4, layer_normalisation: 3, attention: 4, recurrent: 4, swish: 1, own_slopes: 1, places: 2,
    along_time: 2, lambda net: residual(net, [linear, attention, curve, layer_normalisation], 3): 4,
}  # fmt: skip


def summarised(net: TwoForms) -> None:
    """A sequence as a row: its mean, its last element, or its maxima."""
    kind = net.choices.pick_one(["mean", "last", "most"])
    if kind == "mean":
        net.at = net.both("ReduceMean", [net.at], lambda x: x.mean(1), [[1]], keepdims=0)
    elif kind == "most":
        net.at = net.both("ReduceMax", [net.at], lambda x: x.amax(1), [[1]], keepdims=0)
    else:
        output = net.node("Gather", [net.at, net.constant(net.shape[1] - 1)], axis=1)
        net.call([net.at], output, lambda x: x[:, -1])
        net.at = output
    net.shape = (net.shape[0], net.shape[2])


ROW: dict[Layer, int] = {
    linear: 6, curve: 5, layer_normalisation: 2, batch_normalisation: 2, swish: 1, own_slopes: 1, clipped: 1,
    lambda net: residual(net, [linear, curve, layer_normalisation], 3): 2,
}  # fmt: skip

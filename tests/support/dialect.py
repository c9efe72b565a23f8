"""The integer dialect once more, written plainly from its definition, and networks in it as exporters write them.

Nothing here uses the package: the tests compare the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tilewright.ir.types import Array

# ---- meaning ------------------------------------------------------------------------------------------------------


def tdiv(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def clamp(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


def wrap8(x: int) -> int:
    return (x + 128) % 256 - 128


def requant(x: Array, mul: Array, add: Array, shift: int, levels: int, signed: bool) -> Array:
    """`mul` and `add` broadcast with x."""
    value = (x.astype(np.int64) * mul + add + ((1 << shift) >> 1)) >> shift
    return np.clip(value, -levels // 2, levels // 2 - 1) if signed else np.clip(value, 0, levels - 1)


def by_row(x: Array, function: Callable[[list[int]], list[int]]) -> Array:
    rows = [function([int(v) for v in row]) for row in x.reshape(-1, x.shape[-1])]
    return np.array(rows, np.int64).reshape(x.shape)


def softmax(x: Array, log2: int, a: int, b: int, c: int, levels: int) -> Array:
    def row(values: list[int]) -> list[int]:
        parts = []
        for value in values:
            t = value - max(values)
            z = clamp(-tdiv(t, log2), 0, 31)
            parts.append((a * (t + z * log2 + b) ** 2 + c) >> z)
        return [part * (levels - 1) // sum(parts) for part in parts]

    return by_row(x, row)


def ita_max(x: Array, levels: int) -> Array:
    def row(values: list[int]) -> list[int]:
        k = [(max(values) - value + 16) >> 5 for value in values]
        return [((levels - 1) * 256 // sum(256 >> one for one in k)) >> one for one in k]

    return by_row(x, row)


def ita_partial_max(x: Array, levels: int, width: int) -> Array:
    def row(values: list[int]) -> list[int]:
        g, total = -128, 0
        for at in range(0, len(values), width):
            group = values[at : at + width]
            shift = (max(group) - g + 16) >> 5 if max(group) > g else 0
            g = max(g, *group)
            total = (total >> shift) + sum(256 >> ((g - value + 16) >> 5) for value in group)
        return [((levels // 2 - 1) * 256 // total) >> ((g - value + 16) >> 5) for value in values]

    return by_row(x, row)


def layer_norm(x: Array, w: Array, b: Array, shift: int) -> Array:
    def row(values: list[int]) -> list[int]:
        mean = tdiv(sum(values), len(values))
        centred = [value - mean for value in values]
        sigma = math.isqrt(sum(c * c for c in centred) // len(values) + 1)
        return [wrap8((tdiv(c * int(f), sigma) + int(s)) >> shift) for c, f, s in zip(centred, w, b, strict=True)]

    return by_row(x, row)


def rms_norm(x: Array, w: Array, shift: int) -> Array:
    def row(values: list[int]) -> list[int]:
        sigma = math.isqrt(sum(value * value for value in values) // len(values) + 1)
        return [clamp(tdiv(value * int(f), sigma) >> shift, -128, 127) for value, f in zip(values, w, strict=True)]

    return by_row(x, row)


def no_norm(x: Array, w: Array, b: Array, mul: int, shift: int) -> Array:
    return np.clip(((x.astype(np.int64) * w + b) * mul) >> shift, -128, 127)


def gelu(x: Array, b: int, one: int) -> Array:
    wide = x.astype(np.int64)
    e = np.minimum(np.abs(wide), -b) + b
    return wide * ((one + np.sign(wide) * (one - e * e)) >> 1)


def hardswish(x: Array, three: int, six: int, one_over_six: int) -> Array:
    wide = x.astype(np.int64)
    return wide * (np.clip(wide + three, 0, six) * one_over_six)


def integer_div(a: Array, b: Array, delta: int, eta: int, eps: int) -> Array:
    def one(x: int, y: int) -> int:
        den, nom = eta * y + eps, delta * eta * x
        return tdiv(nom + (1 if nom >= 0 else -1) * (den >> 1), den)

    pairs = np.broadcast(a, b)
    return np.array([one(int(x), int(y)) for x, y in pairs], np.int64).reshape(pairs.shape)


def mean(x: Array, axis: int, keepdims: bool) -> Array:
    total, count = x.astype(np.int64).sum(axis, keepdims=keepdims), x.shape[axis]
    if not keepdims and count & (count - 1) == 0:
        return (total + count // 2) >> (count.bit_length() - 1)
    rounded = [tdiv(int(s) + (1 if s > 0 else -1) * (count >> 1), count) for s in total.reshape(-1)]
    return np.array(rounded, np.int64).reshape(total.shape)


# ---- models -------------------------------------------------------------------------------------------------------


class Model:
    """An ONNX model in the dialect, node by node, with the value of every tensor beside it."""

    def __init__(self, seed: int, inputs: Mapping[str, Array]) -> None:
        self.random = np.random.default_rng(seed)
        self.inputs, self.values = dict(inputs), {name: value.astype(np.int64) for name, value in inputs.items()}
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}

    def constant(self, array: Array) -> str:
        """Exporters store integers as floats."""
        name = f"c{len(self.constants)}"
        self.constants[name], self.values[name] = array.astype(np.float32), array
        return name

    def weights(self, *shape: int, low: int = -9, high: int = 9) -> Array:
        return self.random.integers(low, high, shape, endpoint=True)

    def node(self, kind: str, inputs: Sequence[str], value: Array, domain: str = "", **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"{kind} {name}", domain=domain, **attributes))
        self.values[name] = value
        return name

    def requant(self, x: str, shape: tuple[int, ...] = (), signed: bool = True, scale: float = 0.0) -> str:
        """A RequantShift that brings a tensor into 8 bits; `shape` is that of mul and add, broadcasting as it is."""
        value = self.values[x]
        peak = max(int(np.abs(value).max()), 1)
        top = round((scale or 150 / peak) * 2**12)
        mul, add = (
            self.weights(*shape, low=max(top // 2, 1), high=max(top, 1)),
            self.weights(*shape, low=-9999, high=9999),
        )
        attributes = {"div": one_element(2**12), "n_levels_out": one_element(256), "signed": one_element(int(signed))}
        result = requant(value, mul, add, 12, 256, signed)
        return self.node("RequantShift", [x, self.constant(mul), self.constant(add)], result, "PACTOps", **attributes)

    def matmul(self, a: str, b: str) -> str:
        return self.node("MatMul", [a, b], self.values[a] @ self.values[b])

    def linear(self, x: str, columns: int) -> str:
        product = self.matmul(x, self.constant(self.weights(self.values[x].shape[-1], columns)))
        bias = self.constant(self.weights(columns, low=-500, high=500))
        return self.requant(self.node("Add", [bias, product], self.values[product] + self.values[bias]))

    def add(self, a: str, b: str) -> str:
        return self.node("Add", [a, b], self.values[a] + self.values[b])

    def transpose(self, x: str, *perm: int) -> str:
        return self.node("Transpose", [x], self.values[x].transpose(perm), perm=perm)

    def reshape(self, x: str, *shape: int) -> str:
        target = self.constant(np.array(shape))
        self.constants[target] = np.array(shape, np.int64)
        return self.node("Reshape", [x, target], self.values[x].reshape(shape))

    def conv(self, x: str, filters: int, kernel: int, stride: int, group: int = 1) -> str:
        weight = self.weights(filters, self.values[x].shape[1] // group, kernel, kernel)
        value = convolution(self.values[x], weight, stride, kernel // 2, group)
        attributes = {"strides": [stride] * 2, "pads": [kernel // 2] * 4, "group": group, "kernel_shape": [kernel] * 2}
        return self.node("Conv", [x, self.constant(weight)], value, **attributes)

    def proto(self, *outputs: str) -> onnx.ModelProto:
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, a.shape) for name, a in self.inputs.items()]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, self.values[name].shape) for name in outputs]
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "dialect", infos, results, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("PACTOps", 1)])


def one_element(value: float) -> TensorProto:
    return numpy_helper.from_array(np.array([value], np.float32))


def convolution(x: Array, weight: Array, stride: int, pad: int, group: int) -> Array:
    """Tap by tap."""
    n, _, height, width = x.shape
    filters, per_group, kernel, _ = weight.shape
    padded = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    rows, columns = ((size + 2 * pad - kernel) // stride + 1 for size in (height, width))
    result = np.zeros((n, filters, rows, columns), np.int64)
    for f in range(filters):
        for c in range(per_group):
            source = padded[:, f // (filters // group) * per_group + c]
            for r in range(kernel):
                for s in range(kernel):
                    window = source[:, r : r + rows * stride : stride, s : s + columns * stride : stride]
                    result[:, f] += weight[f, c, r, s] * window[:, :rows, :columns]
    return result


def cnn(seed: int = 0) -> tuple[Model, list[str]]:
    """Images of 0 to 255; a residual block, a depthwise convolution, a pool and a classifier."""
    random = np.random.default_rng(seed)
    model = Model(seed, {"image": random.integers(0, 255, (1, 3, 9, 11), endpoint=True)})
    x = model.requant(model.conv("image", 8, 3, 2), (8, 1, 1), signed=False)
    branch = model.requant(model.conv(x, 8, 3, 1), (1, 8, 1, 1))
    skip = model.requant(x, scale=0.4)
    x = model.requant(model.add(branch, skip), signed=False, scale=0.7)
    x = model.requant(model.conv(x, 8, 3, 1, group=8), (8, 1, 1))
    value = model.values[x]
    pooled = value[:, :, :4, :6].reshape(1, 8, 2, 2, 3, 2).max((3, 5))
    x = model.node("MaxPool", [x], pooled, kernel_shape=[2, 2], strides=[2, 2])
    x = model.node("Flatten", [x], model.values[x].reshape(1, -1), axis=1)
    weight, bias = model.weights(5, 48), model.weights(5, low=-99, high=99)
    total = model.values[x] @ weight.T + bias
    x = model.node("Gemm", [x, model.constant(weight), model.constant(bias)], total, transB=1, alpha=1.0, beta=1.0)
    return model, [model.requant(x, (5,))]


def transformer(seed: int = 0) -> tuple[Model, list[str]]:
    """One block of attention and a gated feed-forward part on 6 tokens of 8 values, with norms and a cache."""
    random = np.random.default_rng(seed)
    tokens, cached = random.integers(-128, 127, (1, 6, 8)), random.integers(-128, 127, (1, 2, 3, 4))
    model = Model(seed, {"tokens": tokens, "cache": cached})
    weight = model.weights(8, low=10**5, high=3 * 10**5)
    normed = model.node(
        "iRMSNorm", ["tokens", model.constant(weight)], rms_norm(tokens, weight, 11), D=2**11, n_levels=256
    )
    query, key, value = (_heads(model, model.linear(normed, 8)) for _ in range(3))
    key = model.node("Concat", ["cache", key], np.concatenate([cached, model.values[key]], 2), axis=-2)
    value = model.node("Concat", ["cache", value], np.concatenate([cached, model.values[value]], 2), axis=2)
    scores = _divided(model, model.requant(model.matmul(query, model.transpose(key, 0, 1, 3, 2))))
    attributes = {"log2": 31, "coeffA": 1, "coeffB": 43, "coeffC": 950, "n_levels": 256}
    shares = softmax(model.values[scores], 31, 1, 43, 950, 256)
    shares_name = model.node("iSoftmax", [scores], shares, **{k: one_element(v) for k, v in attributes.items()})
    mixed = model.transpose(model.requant(model.matmul(shares_name, value)), 0, 2, 1, 3)
    x = model.add("tokens", model.linear(model.reshape(mixed, 1, 6, 8), 8))
    return model, [_feed_forward(model, model.requant(x, scale=0.5)), key]


def _heads(model: Model, x: str) -> str:
    return model.transpose(model.reshape(x, 1, 6, 2, 4), 0, 2, 1, 3)


def _divided(model: Model, x: str) -> str:
    """TrueIntegerDiv and RequantShift, which mean one multiplication together."""
    delta, eta, eps, y, mul = 1024, 7000, 1, 3, 90
    unused = np.zeros(model.values[x].shape, np.int64)
    divided = model.node("TrueIntegerDiv", [x], unused, "PACTOps", Delta=delta, eta=eta, eps=eps, y=y)
    factor = np.round(mul * np.floor(delta * eta / (y * eta + eps)) * 256).astype(np.int64)
    value = requant(model.values[x], factor, np.array(0), 15 + 8, 256, True)
    attributes = {"div": float(2**15), "n_levels": 256, "signed": 1}
    constants = [model.constant(np.array([[mul]])), model.constant(np.array([[0]]))]
    return model.node("RequantShift", [divided, *constants], value, "PACTOps", **attributes)


def _feed_forward(model: Model, x: str) -> str:
    weight, bias = model.weights(8, low=10**4, high=2 * 10**4), model.weights(8, low=-9999, high=9999)
    normed = layer_norm(model.values[x], weight, bias, 10)
    attributes = {"D": one_element(2**10), "n_levels": one_element(256)}
    x = model.node("iLayerNorm", [x, model.constant(weight), model.constant(bias)], normed, "PACTOps", **attributes)
    gate, up = model.linear(x, 10), model.linear(x, 10)
    swish = hardswish(model.values[gate], 60, 120, 11)
    gate = model.requant(model.node("iHardswish", [gate], swish, three=60, six=120, one_over_six=11))
    gated = model.node("Mul", [gate, up], model.values[gate] * model.values[up])
    x = model.linear(model.requant(gated), 8)
    curve = gelu(model.values[x], -40, 1743)
    return model.requant(model.node("iGELU", [x], curve, b=-40, one=1743))

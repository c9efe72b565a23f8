"""Networks of bytes as QuantizeLinear and DequantizeLinear write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices, Dull
from benchmarks.differential.net import Net
from benchmarks.differential.windowed import draw_windowed

OPSETS = (13, 17, 19, 21)
KINDS = ("Conv", "Conv", "Conv", "MaxPool", "AveragePool")
UNARY = ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "Elu", "HardSigmoid", "Clip", "Softmax", "Abs")


@dataclass(frozen=True)
class Quantised:
    """A tensor of bytes, and what they stand for."""

    name: str
    scale: float
    zero: str
    steps: float
    """By which roundings may make it differ."""


class Drawing:
    """Layers one behind another, each between quantisers."""

    def __init__(self, net: Net) -> None:
        self.net, self.dtype = net, net.choice(["int8", "uint8"])

    def one(self, kind: str, inputs: Sequence[str], **given: Any) -> str:
        made = self.net.add(kind, inputs, **given)
        if not made:
            raise Dull(f"no runtime takes {kind}")
        return made[0]

    def input(self, shape: Sequence[int]) -> Quantised:
        """Bytes over their whole range; or floats, which are quantised first."""
        net, scale = self.net, float(np.float32(net_scale(self.net)))
        if net.chance(0.2):
            return self.quantised(net.new(shape, constant=False), 0.0)
        values = net.choices.numpy().integers(*_bounds(self.dtype), shape)
        return Quantised(net.give(values.astype(self.dtype), False), scale, self._zero(), 0.0)

    def _zero(self) -> str:
        low, high = _bounds(self.dtype)
        middle = (low + high) // 2
        return self.net.constant(self.net.choice([middle, middle, low, self.net.number(low, high - 1)]), self.dtype)

    def floats(self, x: Quantised) -> str:
        scale = self.net.constant(x.scale, "float32")
        return self.one("DequantizeLinear", [x.name, scale, x.zero], steps=x.steps * x.scale)

    def quantised(self, x: str, before: float, off: float = 0.0) -> Quantised:
        """Floats as bytes; some saturate. `before` are the steps by which operands may differ, `off` is what the
        floats may differ by: many steps of the result, where its scale is small."""
        net = self.net
        largest = float(np.abs(net.values[x]).max(initial=0.0)) or 1.0
        scale = float(np.float32(largest / 127 * net.choice([1.0, 0.7, 1.3, 0.3])))
        zero, steps = self._zero(), 1 + max(2 * before, off / scale)
        name = self.one("QuantizeLinear", [x, net.constant(scale, "float32"), zero], steps=steps)
        return Quantised(name, scale, zero, steps)

    def weights(self, shape: Sequence[int], axis: int) -> tuple[str, float | np.ndarray]:
        """Bytes with one scale or with one for each filter; as floats, and the scale."""
        net = self.net
        values = net.choices.numpy().integers(-127, 128, shape).astype(np.int8)
        count = shape[axis] if net.chance(0.6) else 0
        scale = np.asarray(net.choices.numpy().uniform(0.001, 0.02, count or ()), np.float32)
        operands = [net.give(values, True), net.give(scale, True), net.give(np.zeros(scale.shape, np.int8), True)]
        return self.one("DequantizeLinear", operands, axis=axis if count else None), scale

    def bias(self, count: int, scale: float | np.ndarray) -> str:
        net = self.net
        values = net.choices.numpy().integers(-4000, 4000, count).astype(np.int32)
        scales = np.asarray(np.broadcast_to(scale, (count,)) if np.ndim(scale) else scale, np.float32)
        zeros = net.give(np.zeros(scales.shape, np.int32), True)
        return self.one("DequantizeLinear", [net.give(values, True), net.give(scales, True), zeros], axis=0)

    def sums(self, kind: str, x: Quantised, operands: Sequence[str], axis: int = 0, **given: Any) -> str:
        """A layer whose weights have its results along an axis: what x may differ by meets all weights of a result."""
        weights = np.abs(self.net.values[operands[1]])
        largest = np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1).sum(axis=1).max()
        return self.one(kind, operands, steps=x.steps * x.scale * float(largest), **given)

    # ---- layers -----------------------------------------------------------------------------------------------------

    def first(self) -> Quantised:
        """A windowed layer, whose image may be tiny, or a product of rows."""
        if self.net.chance(0.3):
            return self.product(self.input([self.net.number(1, 5), self.net.number(1, 40)]))
        layer = draw_windowed(self.net, KINDS)
        x = self.input(layer.shape)
        operands = [self.floats(x)]
        if layer.weights:
            weights, scale = self.weights(layer.weights, 0)
            operands.append(weights)
            if self.net.chance(0.7):
                operands.append(self.bias(layer.filters, x.scale * np.asarray(scale)))
        return self._activated(self.one(layer.kind, operands, **layer.attributes), x.steps)

    def _activated(self, made: str, steps: float) -> Quantised:
        if self.net.chance(0.4):
            made = self.one(self.net.choice(["Relu", "Relu", "Clip", "Sigmoid"]), [made])
        return self.quantised(made, steps)

    def product(self, x: Quantised) -> Quantised:
        """Of all that belongs to a sample."""
        net, shape = self.net, self.net.values[x.name].shape
        made, width = self.floats(x), prod(shape[1:])
        if len(shape) != 2:
            made = self.one("Flatten", [made])
        outputs, transposed = net.number(1, 24), net.number(0, 1)
        weights, scale = self.weights((outputs, width) if transposed else (width, outputs), 1 - transposed)
        operands = [made, weights]
        if net.chance(0.7):
            operands.append(self.bias(outputs, x.scale * np.asarray(scale)))
        return self._activated(self.sums("Gemm", x, operands, 1 - transposed, transB=transposed), x.steps)

    def convolution(self, x: Quantised) -> Quantised:
        """One by one, or three by three around each pixel."""
        net, shape = self.net, self.net.values[x.name].shape
        if len(shape) < 3:
            return self.product(x)
        size, channels = net.choice([1, 3]), shape[1]
        deep, outputs = net.chance(0.4), net.number(1, 17)
        rank, filters = len(shape) - 2, channels if deep else outputs
        weights, scale = self.weights((filters, 1 if deep else channels, *([size] * rank)), 0)
        operands = [self.floats(x), weights] + (
            [self.bias(filters, x.scale * np.asarray(scale))] if net.chance(0.7) else []
        )
        made = self.sums("Conv", x, operands, group=channels if deep else 1, pads=[size // 2] * (2 * rank))
        return self._activated(made, x.steps)

    def function(self, x: Quantised) -> Quantised:
        return self.quantised(self.one(self.net.choice(UNARY), [self.floats(x)]), x.steps)

    def pair(self, x: Quantised) -> Quantised:
        """With itself, or with another of the same shape or of a single row."""
        net, shape = self.net, self.net.values[x.name].shape
        other = x if net.chance(0.3) else self.input(net.choice([shape, shape, (1, *shape[1:])]))
        kind = net.choice(["Add", "Add", "Mul", "Sub", "Concat", "Max", "Div"])
        operands = [self.floats(x), self.floats(other)]
        if kind == "Concat":
            axis = net.number(1, len(shape) - 1)
            return self.quantised(self.one(kind, operands, axis=axis), x.steps) if other is x else self.function(x)
        return self.quantised(self.one(kind, operands), x.steps)

    def average(self, x: Quantised) -> Quantised:
        net, rank, off = self.net, self.net.values[x.name].ndim, x.steps * x.scale
        if rank > 2 and net.chance(0.5):
            return self.quantised(self.one("GlobalAveragePool", [self.floats(x)]), x.steps, off)
        axes = [axis for axis in range(1, rank) if net.chance(0.5)] or [rank - 1]
        given = {"keepdims": 1}
        if net.opset < 18:
            return self.quantised(self.one("ReduceMean", [self.floats(x)], axes=axes, **given), x.steps, off)
        return self.quantised(self.one("ReduceMean", [self.floats(x), net.ints(*axes)], **given), x.steps, off)

    def move(self, x: Quantised) -> Quantised:
        """Bytes move as they are: the quantiser behind has the same scale."""
        net, rank = self.net, self.net.values[x.name].ndim
        if net.chance(0.5):
            made = self.one("Transpose", [self.floats(x)], perm=[0, *(1 + axis for axis in net.shuffled(rank - 1))])
        else:
            pads = [0, *(net.number(0, 2) for _ in range(rank - 1))] * 2
            made = self.one("Pad", [self.floats(x), net.ints(*pads)])
        name = self.one("QuantizeLinear", [made, net.constant(x.scale, "float32"), x.zero], steps=x.steps or 1e-9)
        return Quantised(name, x.scale, x.zero, x.steps)


def net_scale(net: Net) -> float:
    return float(net.choice([0.05, 0.0078125, 0.1, net.number(1, 999) / 5000]))


def _bounds(dtype: str) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max) + 1


def draw(choices: Choices, room: int) -> Case:
    net = Net(choices, room, choices.pick_one(OPSETS))
    drawing = Drawing(net)
    x = drawing.first()
    layers: list[Callable[[Quantised], Quantised]] = [
        drawing.convolution, drawing.product, drawing.function, drawing.pair, drawing.average, drawing.move,
    ]  # fmt: skip
    for _ in range(choices.number(0, 3)):
        x = choices.pick_one(layers)(x)
    if choices.chance(0.3):
        drawing.floats(x)
    return net.case()

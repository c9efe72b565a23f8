"""Small networks of TensorFlow Lite of bytes: convolutions, pools, sums, products, softmax, one behind another; images
may be smaller than windows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from benchmarks.differential.case import EXACT, Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.families.tflite import ROUNDINGS, case
from tests.support.tflite_models import O, T, constant, write

SAME, VALID = 0, 1
ACTIVATIONS = (0, 1, 3)
"""None, Relu, Relu6."""
SIZES = (1, 1, 2, 3, 4, 5, 7, 9)
CHANNELS = (1, 2, 3, 4, 5, 8, 16, 17)
WINDOWS = (1, 2, 3, 3, 5)


@dataclass
class Writing:
    """A file that grows; `last` is the tensor that the next operator reads."""

    choices: Choices
    tensors: list[T] = field(default_factory=list)
    operators: list[O] = field(default_factory=list)
    last: int = 0

    def tensor(self, made: T) -> int:
        self.tensors.append(made)
        return len(self.tensors) - 1

    @property
    def x(self) -> T:
        return self.tensors[self.last]

    def scaled(self, shape: tuple[int, ...], low: float, high: float) -> T:
        scale = float(np.float32(self.choices.uniform(low, high)))
        return T("int8", shape, scale, self.choices.number(-128, 127))

    def add(self, kind: str, inputs: list[int], made: T, options: str, version: int, **fields: Any) -> None:
        result = self.tensor(made)
        self.operators.append(O(kind, [self.last, *inputs], [result], options, fields, version))
        self.last = result

    def weights(self, shape: tuple[int, ...], axis: int) -> int:
        """Bytes with a scale for each filter, or for all."""
        values = self.choices.integers(-127, 128, shape).astype(np.int8)
        count = shape[axis] if self.choices.chance(0.6) else 1
        scales = self.choices.uniform(0.001, 0.02, count).astype(np.float32).tolist()
        return self.tensor(constant(values, scales, 0, axis))

    def bias(self, count: int, weights: int) -> int:
        units = np.float32(self.x.scale) * np.broadcast_to(np.float32(self.tensors[weights].scale), (count,))
        values = self.choices.integers(-2000, 2000, count).astype(np.int32)
        return self.tensor(constant(values, units.tolist()))

    # ---- layers -----------------------------------------------------------------------------------------------------

    def window(self) -> tuple[tuple[int, int], dict[str, int], tuple[int, ...]]:
        """Sizes of a window, fields, and how many windows there are: without padding at least one fits."""
        choices, sizes = self.choices, self.x.shape[1:3]
        taps = tuple(choices.pick_one(WINDOWS) for _ in range(2))
        stride = [choices.pick_one((1, 1, 2, 3)) for _ in range(2)]
        fits = all(tap <= size for tap, size in zip(taps, sizes, strict=True))
        padding = VALID if fits and choices.chance(0.5) else SAME
        counts = tuple(
            -(-size // step) if padding == SAME else (size - tap) // step + 1
            for size, tap, step in zip(sizes, taps, stride, strict=True)
        )
        return (taps[0], taps[1]), {"Padding": padding, "StrideH": stride[0], "StrideW": stride[1]}, counts

    def activation(self) -> dict[str, int]:
        return {"FusedActivationFunction": self.choices.pick_one(ACTIVATIONS)}

    def convolution(self) -> None:
        taps, fields, counts = self.window()
        filters = self.choices.pick_one(CHANNELS)
        weights = self.weights((filters, *taps, self.x.shape[3]), 0)
        made = self.scaled((self.x.shape[0], *counts, filters), 0.1, 0.5)
        fields = {**fields, "DilationHFactor": 1, "DilationWFactor": 1, **self.activation()}
        self.add("CONV_2D", [weights, self.bias(filters, weights)], made, "Conv2DOptions", 3, **fields)

    def depthwise(self) -> None:
        taps, fields, counts = self.window()
        multiplier = self.choices.pick_one((1, 1, 2))
        filters = self.x.shape[3] * multiplier
        weights = self.weights((1, *taps, filters), 3)
        made = self.scaled((self.x.shape[0], *counts, filters), 0.1, 0.5)
        fields = {**fields, "DepthMultiplier": multiplier, "DilationHFactor": 1, "DilationWFactor": 1}
        fields |= self.activation()
        self.add(
            "DEPTHWISE_CONV_2D", [weights, self.bias(filters, weights)], made, "DepthwiseConv2DOptions", 3, **fields
        )

    def pool(self) -> None:
        taps, fields, counts = self.window()
        made = replace(self.x, shape=(self.x.shape[0], *counts, self.x.shape[3]), value=None)
        kind = self.choices.pick_one(["MAX_POOL_2D", "AVERAGE_POOL_2D"])
        fields = {**fields, "FilterHeight": taps[0], "FilterWidth": taps[1], **self.activation()}
        self.add(kind, [], made, "Pool2DOptions", 2, **fields)

    def total(self) -> None:
        """With the tensor itself, or one before it of the same shape."""
        same = [i for i, one in enumerate(self.tensors) if one.shape == self.x.shape and one.value is None]
        made = self.scaled(self.x.shape, 0.05, 0.3)
        kind, options = self.choices.pick_one([("ADD", "AddOptions"), ("MUL", "MulOptions"), ("SUB", "SubOptions")])
        self.add(kind, [self.choices.pick_one(same)], made, options, 2, **self.activation())

    def function(self) -> None:
        kind = self.choices.pick_one(["LOGISTIC", "TANH"])
        scale, zero = (1 / 256, -128) if kind == "LOGISTIC" else (1 / 128, 0)
        self.add(kind, [], T("int8", self.x.shape, scale, zero), "", 2)

    def classifier(self) -> None:
        """A product of all that belongs to a sample, and perhaps the shares of its classes."""
        batch, width = self.x.shape[0], prod(self.x.shape[1:])
        row = replace(self.x, shape=(batch, width))
        self.add("RESHAPE", [self.tensor(constant(np.array([batch, width], np.int32)))], row, "ReshapeOptions", 1)
        classes = self.choices.number(1, 12)
        weights = self.weights((classes, width), 0)
        self.tensors[weights].scale = float(np.float32(0.01))
        made = self.scaled((batch, classes), 0.1, 0.3)
        inputs = [weights, self.bias(classes, weights)]
        self.add("FULLY_CONNECTED", inputs, made, "FullyConnectedOptions", 4, **self.activation())
        if self.choices.chance(0.5):
            shares = T("int8", (batch, classes), 1 / 256, -128)
            self.add("SOFTMAX", [], shares, "SoftmaxOptions", 2, Beta=1.0)


def draw(choices: Choices, room: int) -> Case:
    writing = Writing(choices)
    shape = (choices.pick_one((1, 1, 2)), choices.pick_one(SIZES), choices.pick_one(SIZES), choices.pick_one(CHANNELS))
    writing.tensor(writing.scaled(shape, 0.01, 0.1))
    layers = [
        writing.convolution,
        writing.convolution,
        writing.depthwise,
        writing.pool,
        writing.total,
        writing.function,
    ]
    for _ in range(choices.number(1, 4)):
        choices.pick_one(layers)()
    if choices.chance(0.4):
        writing.classifier()
    data = write(writing.tensors, writing.operators, [0], [writing.last])
    return case(data, choices, choices.pick_one(ROUNDINGS), EXACT)

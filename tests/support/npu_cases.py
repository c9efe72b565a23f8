"""One small file for each kind of operator that an Ethos-U computes: shapes, strides, pads, dilations, zero points and
scales drawn at random, wider than `tflite_cases.py` has them, with 8 and 16 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.tflite_cases import (
    NONE,
    QUANTISED,
    RELU,
    RELU6,
    SAME,
    Case,
    Draw,
    _bias,
    _weights,
    ints,
    one,
    scale,
    zero,
)
from tests.support.tflite_models import T, constant


def channels(draw: Draw) -> int:
    return int(draw.choice([1, 2, 3, 8, 15, 16, 17, 24, 33, 48]))


def image(draw: Draw, dtype: str, depth: int = 0) -> T:
    shape = (1, int(draw.integers(1, 14)), int(draw.integers(1, 14)), depth or channels(draw))
    return T(dtype, shape, scale(draw), zero(draw, dtype))


def _window(draw: Draw, x: T, most: int) -> tuple[tuple[int, int], dict[str, int], tuple[int, ...]]:
    """Taps, fields and how many windows there are; a window without padding fits."""
    taps = (int(draw.integers(1, most + 1)), int(draw.integers(1, most + 1)))
    dilation = [int(draw.choice([1, 1, 2])), int(draw.choice([1, 1, 2]))]
    stride = [1, 1] if max(dilation) > 1 else [int(n) for n in draw.integers(1, 4, 2)]
    reach = [(n - 1) * step + 1 for n, step in zip(taps, dilation, strict=True)]
    fits = all(n <= size for n, size in zip(reach, x.shape[1:3], strict=True))
    padding = int(draw.integers(2)) if fits else SAME
    counts = tuple(
        -(-size // step) if padding == SAME else (size - n) // step + 1
        for size, n, step in zip(x.shape[1:3], reach, stride, strict=True)
    )
    fields = {"Padding": padding, "StrideH": stride[0], "StrideW": stride[1]}
    return taps, {**fields, "DilationHFactor": dilation[0], "DilationWFactor": dilation[1]}, counts


def conv(dtype: str) -> Case:
    def make(draw: Draw) -> bytes:
        x, filters = image(draw, dtype), channels(draw)
        taps, fields, counts = _window(draw, x, int(draw.choice([1, 3, 5, 9])))
        w = _weights(draw, (filters, *taps, x.shape[3]), 0, True)
        y = T(dtype, (1, *counts, filters), scale(draw, 0.1, 0.9), zero(draw, dtype))
        fields |= {"FusedActivationFunction": int(draw.choice([NONE, RELU, RELU6]))}
        return one("CONV_2D", [x, w, _bias(draw, filters, x, w)], y, "Conv2DOptions", 3, **fields)

    return make


def depthwise(dtype: str) -> Case:
    def make(draw: Draw) -> bytes:
        x = image(draw, dtype)
        taps, fields, counts = _window(draw, x, int(draw.choice([3, 5])))
        w = _weights(draw, (1, *taps, x.shape[3]), 3, True)
        y = T(dtype, (1, *counts, x.shape[3]), scale(draw, 0.1, 0.9), zero(draw, dtype))
        fields |= {"DepthMultiplier": 1, "FusedActivationFunction": int(draw.choice([NONE, RELU]))}
        inputs = [x, w, _bias(draw, x.shape[3], x, w)]
        return one("DEPTHWISE_CONV_2D", inputs, y, "DepthwiseConv2DOptions", 3, **fields)

    return make


def pool(op: str, dtype: str) -> Case:
    def make(draw: Draw) -> bytes:
        x = image(draw, dtype)
        taps, fields, counts = _window(draw, x, 5)
        fields = {key: fields[key] for key in ("Padding", "StrideH", "StrideW")}
        if fields["Padding"] == SAME:
            counts = tuple(-(-n // fields[f"Stride{c}"]) for n, c in zip(x.shape[1:3], "HW", strict=True))
        else:
            taps = (min(taps[0], x.shape[1]), min(taps[1], x.shape[2]))
            counts = tuple(
                (n - t) // fields[f"Stride{c}"] + 1 for n, t, c in zip(x.shape[1:3], taps, "HW", strict=True)
            )
        y = T(dtype, (1, *counts, x.shape[3]), x.scale, x.zero)
        fields |= {"FilterHeight": taps[0], "FilterWidth": taps[1], "FusedActivationFunction": NONE}
        return one(op, [x], y, "Pool2DOptions", 2, **fields)

    return make


def binary(op: str, options: str, dtype: str, same: bool = False) -> Case:
    """Either operand may be the same along some axes, or a constant."""

    def make(draw: Draw) -> bytes:
        a = image(draw, dtype)
        shape = tuple(1 if draw.random() < 0.25 else n for n in a.shape)
        b = T(dtype, shape, scale(draw), zero(draw, dtype))
        if draw.random() < 0.3:
            info = np.iinfo(dtype)
            values = draw.integers(info.min, info.max + 1, shape).astype(dtype)
            b = constant(values, b.scale, b.zero)
        y = T(dtype, a.shape, scale(draw, 0.02, 0.3), zero(draw, dtype))
        if same:
            b.scale, b.zero, y.scale, y.zero = a.scale, a.zero, a.scale, a.zero
        return one(
            op, [a, b], y, options, 2, **({} if same else {"FusedActivationFunction": int(draw.choice([NONE, RELU]))})
        )

    return make


def unary(op: str, dtype: str, options: str = "", result: tuple[float, int] | None = None, same: bool = False,
          **fields: Any) -> Case:  # fmt: skip
    def make(draw: Draw) -> bytes:
        x = image(draw, dtype)
        made = result or ((x.scale, x.zero) if same else (scale(draw), zero(draw, dtype)))
        return one(op, [x], T(dtype, x.shape, *made), options, 2, **fields)

    return make


def softmax(dtype: str) -> Case:
    def make(draw: Draw) -> bytes:
        rows, length = int(draw.integers(1, 9)), int(draw.integers(2, 60))
        x = T(dtype, (rows, length), scale(draw) / (1 if dtype == "int8" else 200), zero(draw, dtype))
        y = T(dtype, x.shape, 1 / 256, -128) if dtype == "int8" else T(dtype, x.shape, 1 / 32768, 0)
        return one("SOFTMAX", [x], y, "SoftmaxOptions", 2, Beta=1.0)

    return make


def connected(dtype: str) -> Case:
    def make(draw: Draw) -> bytes:
        rows, length, columns = int(draw.integers(1, 5)), int(draw.integers(1, 200)), int(draw.integers(1, 80))
        x = T(dtype, (rows, length), scale(draw), zero(draw, dtype))
        w = _weights(draw, (columns, length), 0, False)
        y = T(dtype, (rows, columns), scale(draw, 0.1, 0.9), zero(draw, dtype))
        return one("FULLY_CONNECTED", [x, w, _bias(draw, columns, x, w)], y, "FullyConnectedOptions", 4)

    return make


def transpose_conv(draw: Draw) -> bytes:
    x, filters = image(draw, "int8"), channels(draw)
    stride, taps, padding = int(draw.integers(1, 3)), (int(draw.integers(2, 5)), int(draw.integers(2, 5))), SAME
    w = _weights(draw, (filters, *taps, x.shape[3]), 0, True)
    shape = (1, x.shape[1] * stride, x.shape[2] * stride, filters)
    y = T("int8", shape, scale(draw, 0.1, 0.9), zero(draw))
    tensors = [ints(shape), w, x, _bias(draw, filters, x, w)]
    return one("TRANSPOSE_CONV", tensors, y, "TransposeConvOptions", 3, Padding=padding, StrideH=stride, StrideW=stride)


def resize(op: str, options: str) -> Case:
    def make(draw: Draw) -> bytes:
        x, times = image(draw, "int8"), int(draw.choice([2, 4]))
        corners = bool(draw.integers(2))
        shape = tuple((n - 1) * times + 1 if corners else n * times for n in x.shape[1:3])
        centers = not corners and times == 2 and bool(draw.integers(2))
        y = T("int8", (1, *shape, x.shape[3]), x.scale, x.zero)
        return one(op, [x, ints(list(shape))], y, options, 3, AlignCorners=corners, HalfPixelCenters=centers)

    return make


def rescale(before: str, after: str) -> Case:
    def make(draw: Draw) -> bytes:
        x = image(draw, before)
        return one("QUANTIZE", [x], T(after, x.shape, scale(draw), zero(draw, after)), "QuantizeOptions", 1)

    return make


def pad(draw: Draw) -> bytes:
    x = image(draw, "int8")
    pads = np.zeros((4, 2), np.int32)
    pads[1:3] = draw.integers(0, 4, (2, 2))
    shape = tuple(int(n + a + b) for n, (a, b) in zip(x.shape, pads, strict=True))
    return one("PAD", [x, constant(pads)], T("int8", shape, x.scale, x.zero), "PadOptions", 2)


TABLES = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
WORD_TABLES = {"LOGISTIC": (1 / 32768, 0), "TANH": (1 / 32768, 0)}

CASES: dict[str, Case] = {
    "conv": conv("int8"), "conv16": conv("int16"), "depthwise": depthwise("int8"), "depthwise16": depthwise("int16"),
    "connected": connected("int8"), "connected16": connected("int16"), "transpose_conv": transpose_conv,
    "average": pool("AVERAGE_POOL_2D", "int8"), "max": pool("MAX_POOL_2D", "int8"),
    "average16": pool("AVERAGE_POOL_2D", "int16"), "max16": pool("MAX_POOL_2D", "int16"),
    "add": binary("ADD", "AddOptions", "int8"), "sub": binary("SUB", "SubOptions", "int8"),
    "mul": binary("MUL", "MulOptions", "int8"), "add16": binary("ADD", "AddOptions", "int16"),
    "sub16": binary("SUB", "SubOptions", "int16"), "mul16": binary("MUL", "MulOptions", "int16"),
    "minimum": binary("MINIMUM", "MaximumMinimumOptions", "int8", True),
    "maximum": binary("MAXIMUM", "MaximumMinimumOptions", "int8", True),
    "minimum16": binary("MINIMUM", "MaximumMinimumOptions", "int16", True),
    "relu": unary("RELU", "int8"), "relu6": unary("RELU6", "int8", same=True), "relu16": unary("RELU", "int16"),
    "leaky_relu": unary("LEAKY_RELU", "int8", "LeakyReluOptions", Alpha=0.3),
    "leaky_relu16": unary("LEAKY_RELU", "int16", "LeakyReluOptions", Alpha=0.1),
    "abs": unary("ABS", "int8"), "abs16": unary("ABS", "int16"), "hard_swish": unary("HARD_SWISH", "int8"),
    **{name.lower(): unary(name, "int8", result=to) for name, to in TABLES.items()},
    **{name.lower() + "16": unary(name, "int16", result=to) for name, to in WORD_TABLES.items()},
    "softmax": softmax("int8"), "softmax16": softmax("int16"),
    "bilinear": resize("RESIZE_BILINEAR", "ResizeBilinearOptions"),
    "nearest": resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    "quantise": rescale("int8", "int8"), "narrowed": rescale("int16", "int8"), "widened": rescale("int8", "int16"),
    "pad": pad, **{name: QUANTISED[name] for name in (
        "mean", "batch_matmul", "concatenation", "split", "split_v", "strided_slice", "transpose", "reshape",
        "mirror_pad", "quantize_uint8",
    )},
}  # fmt: skip

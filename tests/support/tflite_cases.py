"""One small file for each operator of TensorFlow Lite that is read, with shapes and scales drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.support.tflite_models import O, T, constant, write
from tilewright.ir.types import Array

Draw = np.random.Generator
Case = Callable[[Draw], bytes]
SAME, VALID = 0, 1
NONE, RELU, RELU6 = 0, 1, 3


def scale(draw: Draw, low: float = 0.01, high: float = 0.1) -> float:
    return float(np.float32(draw.uniform(low, high)))


def zero(draw: Draw, dtype: str = "int8") -> int:
    return int(draw.integers(-128, 128)) if dtype == "int8" else 0


def image(draw: Draw, dtype: str = "int8", channels: int = 0) -> T:
    """A tensor of activations; a float has no scale."""
    shape = (1, int(draw.integers(4, 9)), int(draw.integers(4, 9)), channels or int(draw.integers(1, 7)))
    return tensor(draw, shape, dtype)


def tensor(draw: Draw, shape: Sequence[int], dtype: str = "int8", low: float = 0.01, high: float = 0.1) -> T:
    if dtype == "float32":
        return T(dtype, tuple(shape))
    return T(dtype, tuple(shape), scale(draw, low, high), zero(draw, dtype))


def ints(values: Sequence[int] | int) -> T:
    return constant(np.array(values, np.int32))


def one(op: str, tensors: list[T], result: T, options: str = "", version: int = 1, **fields: Any) -> bytes:
    """A graph of one operator, whose constants are those tensors that have values."""
    given = [number for number, t in enumerate(tensors) if t.value is None]
    operator = O(op, range(len(tensors)), [len(tensors)], options, fields, version)
    return write([*tensors, result], [operator], given, [len(tensors)])


# ---- convolutions ---------------------------------------------------------------------------------------------------


def _weights(draw: Draw, shape: tuple[int, ...], axis: int, per_channel: bool) -> T:
    values = draw.integers(-127, 128, shape).astype(np.int8)
    count = shape[axis] if per_channel else 1
    return constant(values, [scale(draw, 0.001, 0.02) for _ in range(count)], 0, axis)


def _bias(draw: Draw, filters: int, x: T, w: T) -> T:
    if x.dtype == "float32":
        return constant(draw.normal(size=filters).astype(np.float32))
    units = np.float32(x.scale) * np.broadcast_to(np.asarray(w.scale, np.float32), (filters,))
    wide = np.int64 if x.dtype == "int16" else np.int32
    return constant(draw.integers(-2000, 2000, filters).astype(wide), units.tolist())


def conv(dtype: str = "int8", per_channel: bool = True) -> Case:
    def make(draw: Draw) -> bytes:
        x, filters = image(draw, dtype), int(draw.integers(1, 9))
        taps = tuple(int(n) for n in draw.integers(1, 4, 2))
        stride, padding = int(draw.integers(1, 3)), int(draw.integers(2))
        w = _weights(draw, (filters, *taps, x.shape[3]), 0, per_channel)
        if dtype == "float32":
            w = constant(draw.normal(size=w.shape).astype(np.float32))
        y = tensor(draw, (1, *_spatial(x.shape[1:3], taps, stride, padding), filters), dtype, 0.1, 0.5)
        return one(
            "CONV_2D", [x, w, _bias(draw, filters, x, w)], y, "Conv2DOptions", 3, Padding=padding, StrideH=stride,
            StrideW=stride, FusedActivationFunction=int(draw.choice([NONE, RELU, RELU6])), DilationHFactor=1,
            DilationWFactor=1,
        )  # fmt: skip

    return make


def depthwise(dtype: str = "int8") -> Case:
    def make(draw: Draw) -> bytes:
        x, multiplier = image(draw, dtype), int(draw.integers(1, 3))
        taps, stride, padding = (3, 3), int(draw.integers(1, 3)), int(draw.integers(2))
        filters = x.shape[3] * multiplier
        w = _weights(draw, (1, *taps, filters), 3, True)
        if dtype == "float32":
            w = constant(draw.normal(size=w.shape).astype(np.float32))
        y = tensor(draw, (1, *_spatial(x.shape[1:3], taps, stride, padding), filters), dtype, 0.1, 0.5)
        return one(
            "DEPTHWISE_CONV_2D", [x, w, _bias(draw, filters, x, w)], y, "DepthwiseConv2DOptions", 3, Padding=padding,
            StrideH=stride, StrideW=stride, DepthMultiplier=multiplier, DilationHFactor=1, DilationWFactor=1,
            FusedActivationFunction=int(draw.choice([NONE, RELU])),
        )  # fmt: skip

    return make


def transpose_conv(dtype: str = "int8") -> Case:
    def make(draw: Draw) -> bytes:
        x, filters, stride, taps = image(draw, dtype), int(draw.integers(1, 5)), 2, (3, 3)
        w = _weights(draw, (filters, *taps, x.shape[3]), 0, True)
        if dtype == "float32":
            w = constant(draw.normal(size=w.shape).astype(np.float32))
        shape = (1, x.shape[1] * stride, x.shape[2] * stride, filters)
        y = tensor(draw, shape, dtype, 0.1, 0.5)
        tensors = [ints(shape), w, x, _bias(draw, filters, x, w)]
        fields = {"Padding": SAME, "StrideH": stride, "StrideW": stride}
        return one("TRANSPOSE_CONV", tensors, y, "TransposeConvOptions", 3, **fields)

    return make


def _spatial(image: Sequence[int], taps: Sequence[int], stride: int, padding: int) -> tuple[int, ...]:
    if padding == SAME:
        return tuple(-(-size // stride) for size in image)
    return tuple((size - n) // stride + 1 for size, n in zip(image, taps, strict=True))


def connected(dtype: str = "int8") -> Case:
    def make(draw: Draw) -> bytes:
        rows, length, columns = (int(n) for n in draw.integers(1, 20, 3))
        x = tensor(draw, (rows, length), dtype)
        w = _weights(draw, (columns, length), 0, False)
        if dtype == "float32":
            w = constant(draw.normal(size=w.shape).astype(np.float32))
        y = tensor(draw, (rows, columns), dtype, 0.1, 0.3)
        activation = int(draw.choice([NONE, RELU]))
        options = {"FusedActivationFunction": activation}
        return one("FULLY_CONNECTED", [x, w, _bias(draw, columns, x, w)], y, "FullyConnectedOptions", 4, **options)

    return make


def batch_matmul(draw: Draw) -> bytes:
    rows, length, columns = (int(n) for n in draw.integers(1, 12, 3))
    turned = bool(draw.integers(2))
    a, b = tensor(draw, (2, rows, length)), tensor(draw, (2, columns, length) if turned else (2, length, columns))
    y = tensor(draw, (2, rows, columns), "int8", 0.2, 0.4)
    return one("BATCH_MATMUL", [a, b], y, "BatchMatMulOptions", 3, AdjX=False, AdjY=turned)


# ---- pools and reductions -------------------------------------------------------------------------------------------


def pool(op: str, dtype: str = "int8") -> Case:
    def make(draw: Draw) -> bytes:
        x, taps = image(draw, dtype), tuple(int(n) for n in draw.integers(1, 4, 2))
        stride, padding = int(draw.integers(1, 3)), int(draw.integers(2))
        y = T(dtype, (1, *_spatial(x.shape[1:3], taps, stride, padding), x.shape[3]), x.scale, x.zero)
        return one(
            op, [x], y, "Pool2DOptions", 2, Padding=padding, StrideH=stride, StrideW=stride, FilterHeight=taps[0],
            FilterWidth=taps[1], FusedActivationFunction=int(draw.choice([NONE, RELU])),
        )  # fmt: skip

    return make


def reduce(op: str, dtype: str = "int8", same: bool = False) -> Case:
    def make(draw: Draw) -> bytes:
        x, keep = image(draw, dtype), bool(draw.integers(2))
        axes = [1, 2] if draw.integers(2) else [int(draw.integers(0, 4))]
        shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
        kept = shape if keep else [size for axis, size in enumerate(x.shape) if axis not in axes]
        y = T(dtype, tuple(kept), x.scale, x.zero) if same else tensor(draw, kept, dtype, 0.02, 0.2)
        return one(op, [x, ints(axes)], y, "ReducerOptions", 2, KeepDims=keep)

    return make


# ---- element by element ---------------------------------------------------------------------------------------------


def binary(op: str, options: str = "", dtype: str = "int8", same: bool = False, fused: bool = True) -> Case:
    def make(draw: Draw) -> bytes:
        a = image(draw, dtype)
        shape = a.shape if draw.integers(2) else (1, 1, 1, a.shape[3])
        b = T(dtype, shape, a.scale, a.zero) if same else tensor(draw, shape, dtype)
        y = T(dtype, a.shape, a.scale, a.zero) if same else tensor(draw, a.shape, dtype, 0.02, 0.2)
        fields = {"FusedActivationFunction": int(draw.choice([NONE, RELU]))} if fused else {}
        return one(op, [a, b], y, options, 2, **fields)

    return make


def compare(op: str, dtype: str) -> Case:
    def make(draw: Draw) -> bytes:
        a = image(draw, dtype)
        return one(op, [a, T(dtype, a.shape, a.scale, a.zero)], T("bool", a.shape), f"{_words(op)}Options")

    return make


def _words(op: str) -> str:
    return "".join(word.capitalize() for word in op.split("_"))


def unary(
    op: str, options: str = "", dtype: str = "int8", result: Sequence[float] = (), same: bool = False, version: int = 1,
    **fields: Any,
) -> Case:  # fmt: skip
    def make(draw: Draw) -> bytes:
        x = image(draw, dtype)
        if same:
            return one(op, [x], T(dtype, x.shape, x.scale, x.zero), options, version, **fields)
        y = T(dtype, x.shape, result[0], int(result[1])) if result else tensor(draw, x.shape, dtype)
        return one(op, [x], y, options, version, **fields)

    return make


def quantize(before: str, after: str) -> Case:
    def make(draw: Draw) -> bytes:
        x = image(draw, before)
        y = T(after, x.shape, scale(draw), 128 if after == "uint8" else zero(draw, after))
        return one("QUANTIZE", [x], y)

    return make


def dequantize(draw: Draw) -> bytes:
    x = image(draw)
    return one("DEQUANTIZE", [x], T("float32", x.shape), version=2)


# ---- rows -----------------------------------------------------------------------------------------------------------


def softmax(dtype: str = "int8", large: bool = False) -> Case:
    def make(draw: Draw) -> bytes:
        shape = (int(draw.integers(1, 4)), int(draw.integers(2, 40)))
        x = tensor(draw, shape, dtype, *((0.2, 1.0) if large else (0.01, 0.1)))
        y = T("float32", shape) if dtype == "float32" else T("int8", shape, 1 / 256, -128)
        return one("SOFTMAX", [x], y, "SoftmaxOptions", 2, Beta=1.0)

    return make


def resize(op: str, dtype: str = "int8") -> Case:
    def make(draw: Draw) -> bytes:
        x, wanted = image(draw, dtype), [int(n) for n in draw.integers(1, 14, 2)]
        how = int(draw.integers(3))
        y = T(dtype, (1, *wanted, x.shape[3]), x.scale, x.zero)
        fields = {"AlignCorners": how == 1, "HalfPixelCenters": how == 2}
        return one(op, [x, ints(wanted)], y, f"{_words(op)}Options", 3, **fields)

    return make


# ---- movement -------------------------------------------------------------------------------------------------------


def concatenation(same: bool) -> Case:
    def make(draw: Draw) -> bytes:
        a = image(draw)
        b = T("int8", a.shape, a.scale, a.zero) if same else tensor(draw, a.shape)
        shape = (*a.shape[:3], 2 * a.shape[3])
        y = T("int8", shape, a.scale, a.zero) if same else tensor(draw, shape)
        return one("CONCATENATION", [a, b], y, "ConcatenationOptions", 2, Axis=3)

    return make


def moved(op: str, shape: Callable[[tuple[int, ...]], Sequence[int]], operands: Callable[[tuple[int, ...]], list[T]],
          options: str = "", dtype: str = "int8", **fields: Any) -> Case:  # fmt: skip
    """An operator that moves elements: the result has the operand's scale."""

    def make(draw: Draw) -> bytes:
        x = image(draw, dtype)
        y = T(dtype, tuple(shape(x.shape)), x.scale, x.zero)
        return one(op, [x, *operands(x.shape)], y, options, 1 if dtype == "float32" else 2, **fields)

    return make


def parts(op: str) -> Case:
    def make(draw: Draw) -> bytes:
        x = image(draw, channels=6)
        sizes = [3, 3] if op == "SPLIT" else [1, 2, 3]
        ys = [T("int8", (*x.shape[:3], size), x.scale, x.zero) for size in sizes]
        given = [ints([3]), x] if op == "SPLIT" else [x, ints(sizes), ints([3])]
        tensors = [*given, *ys]
        fields = {"NumSplits": len(sizes)}
        options = "SplitOptions" if op == "SPLIT" else "SplitVOptions"
        outputs = range(len(given), len(tensors))
        operator = O(op, range(len(given)), outputs, options, fields, 2)
        return write(tensors, [operator], [number for number, t in enumerate(given) if t.value is None], list(outputs))

    return make


def hybrid(op: str, per_channel: bool) -> Case:
    def make(draw: Draw) -> bytes:
        if op == "FULLY_CONNECTED":
            x, w = T("float32", (3, 10)), _weights(draw, (5, 10), 0, False)
            bias = constant(draw.normal(size=5).astype(np.float32))
            return one(op, [x, w, bias], T("float32", (3, 5)), "FullyConnectedOptions", 3)
        x = image(draw, "float32")
        shape = (4, 3, 3, x.shape[3]) if op == "CONV_2D" else (1, 3, 3, x.shape[3])
        w = _weights(draw, shape, 0 if op == "CONV_2D" else 3, per_channel)
        filters = shape[0] if op == "CONV_2D" else shape[3]
        bias = constant(draw.normal(size=filters).astype(np.float32))
        options = "Conv2DOptions" if op == "CONV_2D" else "DepthwiseConv2DOptions"
        fields = {"Padding": SAME, "StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
        if op != "CONV_2D":
            fields["DepthMultiplier"] = 1
        return one(op, [x, w, bias], T("float32", (*x.shape[:3], filters)), options, 5, **fields)

    return make


def _padded(shape: tuple[int, ...]) -> Sequence[int]:
    return (shape[0], shape[1] + 3, shape[2] + 1, shape[3])


PADS = [[0, 0], [1, 2], [1, 0], [0, 0]]


def batches(dtype: str, back: bool, border: bool = True) -> Case:
    """Blocks of 2 x 3 pixels as batches, or batches as blocks; with borders that are added or cropped, or without."""

    def make(draw: Draw) -> bytes:
        h, w, c = (int(size) for size in draw.integers(2, 4, 3))
        wide, small = (1, 2 * h - border, 3 * w - 2 * border, c), (6, h, w, c)
        x = tensor(draw, small if back else wide, dtype)
        y = T(dtype, wide if back else small, x.scale, x.zero)
        kind = "BATCH_TO_SPACE_ND" if back else "SPACE_TO_BATCH_ND"
        options = "BatchToSpaceNDOptions" if back else "SpaceToBatchNDOptions"
        return one(
            kind,
            [x, ints([2, 3]), ints([[int(border), 0], [0, 2 * border]])],
            y,
            options,
            1 if dtype == "float32" else 2,
        )

    return make


def largest(draw: Draw) -> bytes:
    tensors = [T("float32", (3, 7)), ints(2), T("float32", (3, 2)), T("int32", (3, 2))]
    return write(tensors, [O("TOPK_V2", [0, 1], [2, 3], "TopKV2Options", {}, 1)], [0], [2, 3])


QUANTISED: dict[str, Case] = {
    "space_to_batch": batches("int8", False), "batch_to_space": batches("int8", True),
    "space_to_batch_without_border": batches("int8", False, border=False),
    "conv": conv(), "conv_per_tensor": conv(per_channel=False), "depthwise": depthwise(),
    "transpose_conv": transpose_conv(), "connected": connected(), "batch_matmul": batch_matmul,
    "average_pool": pool("AVERAGE_POOL_2D"), "max_pool": pool("MAX_POOL_2D"), "mean": reduce("MEAN"),
    "sum": reduce("SUM"), "reduce_max": reduce("REDUCE_MAX", same=True),
    "add": binary("ADD", "AddOptions"), "sub": binary("SUB", "SubOptions"), "mul": binary("MUL", "MulOptions"),
    "maximum": binary("MAXIMUM", "MaximumMinimumOptions", same=True, fused=False),
    "minimum": binary("MINIMUM", "MaximumMinimumOptions", same=True, fused=False),
    "less": compare("LESS", "int8"), "greater_equal": compare("GREATER_EQUAL", "int8"),
    "relu": unary("RELU", version=2), "relu6": unary("RELU6", same=True),
    "leaky_relu": unary("LEAKY_RELU", "LeakyReluOptions", version=2, Alpha=0.2),
    "logistic": unary("LOGISTIC", version=2, result=(1 / 256, -128)),
    "tanh": unary("TANH", version=2, result=(1 / 128, 0)),
    "hard_swish": unary("HARD_SWISH"), "quantize_float": quantize("float32", "int8"),
    "quantize_int8": quantize("int8", "int8"), "quantize_uint8": quantize("int8", "uint8"),
    "quantize_int16": quantize("int16", "int8"), "quantize_to_int16": quantize("int8", "int16"),
    "dequantize": dequantize, "softmax": softmax(), "softmax_large": softmax(large=True),
    "resize_bilinear": resize("RESIZE_BILINEAR"), "resize_nearest": resize("RESIZE_NEAREST_NEIGHBOR"),
    "concatenation": concatenation(True), "concatenation_rescaled": concatenation(False),
    "pad": moved("PAD", _padded, lambda s: [ints(PADS)], "PadOptions"), "split": parts("SPLIT"),
    "split_v": parts("SPLIT_V"),
    "strided_slice": moved(
        "STRIDED_SLICE", lambda s: (1, s[1] // 2, s[2]),
        lambda s: [ints([0, 1, 0, 0]), ints([1, s[1], s[2], 1]), ints([1, 2, 1, 1])], "StridedSliceOptions",
        BeginMask=1, EndMask=5, ShrinkAxisMask=8,
    ),
    "transpose": moved(
        "TRANSPOSE", lambda s: (s[0], s[3], s[1], s[2]), lambda s: [ints([0, 3, 1, 2])], "TransposeOptions"
    ),
    "reshape": moved("RESHAPE", lambda s: (s[1] * s[2], s[3]), lambda s: [ints([-1, s[3]])], "ReshapeOptions"),
    "mirror_pad": moved(
        "MIRROR_PAD", lambda s: (s[0], s[1] + 2, s[2] + 2, s[3]), lambda s: [ints([[0, 0], [1, 1], [1, 1], [0, 0]])],
        "MirrorPadOptions", Mode=0,
    ),
    "conv_int16": conv("int16"), "depthwise_int16": depthwise("int16"), "connected_int16": connected("int16"),
    "relu_int16": unary("RELU", dtype="int16", version=2), "relu6_int16": unary("RELU6", dtype="int16", same=True),
    "add_int16": binary("ADD", "AddOptions", "int16"), "mul_int16": binary("MUL", "MulOptions", "int16"),
}  # fmt: skip
"""Files of quantised tensors."""

FLOATS: dict[str, Case] = {
    "space_to_batch": batches("float32", False), "batch_to_space": batches("float32", True), "largest": largest,
    "add_n": lambda draw: one("ADD_N", [T("float32", (2, 3))] * 3, T("float32", (2, 3)), "AddNOptions"),
    "conv": conv("float32"), "depthwise": depthwise("float32"), "transpose_conv": transpose_conv("float32"),
    "connected": connected("float32"), "average_pool": pool("AVERAGE_POOL_2D", "float32"),
    "max_pool": pool("MAX_POOL_2D", "float32"), "mean": reduce("MEAN", "float32"), "sum": reduce("SUM", "float32"),
    "reduce_max": reduce("REDUCE_MAX", "float32"), "reduce_min": reduce("REDUCE_MIN", "float32"),
    "add": binary("ADD", "AddOptions", "float32"), "sub": binary("SUB", "SubOptions", "float32"),
    "mul": binary("MUL", "MulOptions", "float32"), "div": binary("DIV", "DivOptions", "float32"),
    "squared_difference": binary("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", "float32", fused=False),
    "maximum": binary("MAXIMUM", "MaximumMinimumOptions", "float32", fused=False),
    "relu": unary("RELU", dtype="float32"), "relu6": unary("RELU6", dtype="float32"),
    "leaky_relu": unary("LEAKY_RELU", "LeakyReluOptions", "float32", Alpha=0.2),
    "logistic": unary("LOGISTIC", dtype="float32"), "tanh": unary("TANH", dtype="float32"),
    "hard_swish": unary("HARD_SWISH", dtype="float32"), "neg": unary("NEG", dtype="float32"),
    "square": unary("SQUARE", dtype="float32"), "abs": unary("ABS", dtype="float32"),
    "exp": unary("EXP", dtype="float32"), "softmax": softmax("float32"),
    "resize_bilinear": resize("RESIZE_BILINEAR", "float32"),
    "resize_nearest": resize("RESIZE_NEAREST_NEIGHBOR", "float32"),
    "expand_dims": moved(
        "EXPAND_DIMS", lambda s: (s[0], 1, *s[1:]), lambda s: [ints(1)], "ExpandDimsOptions", "float32"
    ),
    "less": compare("LESS", "float32"),
}  # fmt: skip
"""Files of floats."""


def small_floats(draw: Draw) -> bytes:
    """Weights of 16 bits, which a DEQUANTIZE makes floats of."""
    half = constant(draw.normal(size=(5, 7)).astype(np.float16))
    tensors = [T("float32", (3, 7)), half, T("float32", (5, 7)), constant(draw.normal(size=5).astype(np.float32))]
    operators = [
        O("DEQUANTIZE", [1], [2], "DequantizeOptions", {}, 3),
        O("FULLY_CONNECTED", [0, 2, 3], [4], "FullyConnectedOptions"),
    ]
    return write([*tensors, T("float32", (3, 5))], operators, [0], [4])


FLOATS["small_floats"] = small_floats

HYBRID: dict[str, Case] = {
    "conv": hybrid("CONV_2D", False), "conv_per_channel": hybrid("CONV_2D", True),
    "depthwise": hybrid("DEPTHWISE_CONV_2D", True), "connected": hybrid("FULLY_CONNECTED", False),
}  # fmt: skip
"""Float activations and 8-bit weights, which TensorFlow Lite Micro does not take."""


def random_input(draw: Draw, dtype: str, shape: Sequence[int]) -> Array:
    if dtype == "float32":
        return draw.normal(scale=2.0, size=shape).astype(np.float32)
    info = np.iinfo(dtype)
    return draw.integers(info.min, info.max + 1, shape).astype(dtype)


def network(draw: Draw) -> bytes:
    """A small classifier with names: two convolutions and their sum, a pool, a product and a softmax."""
    shape = (1, 8, 8, 8)
    image, filters = T("int8", (1, 8, 8, 3), 0.02, 3, name="image"), _weights(draw, (8, 3, 3, 3), 0, True)
    window = _weights(draw, (1, 3, 3, 8), 3, True)
    wide, deep = T("int8", shape, 0.05, -128, name="stem"), T("int8", shape, 0.08, 4, name="depthwise")
    total, mean = T("int8", shape, 0.09, -128, name="sum"), T("int8", (1, 1, 1, 8), 0.09, -128, name="mean")
    row, scores = T("int8", (1, 8), 0.09, -128, name="row"), T("int8", (1, 4), 0.1, 5, name="scores")
    weights, shares = _weights(draw, (4, 8), 0, False), T("int8", (1, 4), 1 / 256, -128, name="shares")
    tensors = [
        image, filters, _bias(draw, 8, image, filters), wide, window, _bias(draw, 8, wide, window), deep, total, mean,
        ints([1, 8]), row, weights, _bias(draw, 4, row, weights), scores, shares,
    ]  # fmt: skip
    same = {"Padding": SAME, "StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
    pool = {"Padding": VALID, "StrideH": 8, "StrideW": 8, "FilterHeight": 8, "FilterWidth": 8}
    operators = [
        O("CONV_2D", [0, 1, 2], [3], "Conv2DOptions", {**same, "FusedActivationFunction": RELU}, 3),
        O("DEPTHWISE_CONV_2D", [3, 4, 5], [6], "DepthwiseConv2DOptions", {**same, "DepthMultiplier": 1}, 3),
        O("ADD", [3, 6], [7], "AddOptions", {"FusedActivationFunction": RELU}, 2),
        O("AVERAGE_POOL_2D", [7], [8], "Pool2DOptions", pool, 2),
        O("RESHAPE", [8, 9], [10], "ReshapeOptions"),
        O("FULLY_CONNECTED", [10, 11, 12], [13], "FullyConnectedOptions", {}, 4),
        O("SOFTMAX", [13], [14], "SoftmaxOptions", {"Beta": 1.0}, 2),
    ]
    return write(tensors, operators, [0], [14])

"""Convolutions and products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite import hybrid
from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.quantisation import activation_of, operand, reduced, requantised
from tilewright.frontends.tflite.windows import activated, check_image, padding, steps
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.ops._filters import Filters
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.records import dataclass

TO_SECOND, TO_LAST = (0, 3, 1, 2), (0, 2, 3, 1)


@dataclass(frozen=True)
class Weights:
    """Of a layer: where its operands stand, and how many filters (or columns) it has."""

    x: int
    w: int
    b: int
    filters: int


# ---- convolutions ---------------------------------------------------------------------------------------------------


def conv_2d(node: Node) -> Sequence[str]:
    image, (filters, *taps, channels) = check_image(node), check_image(node, 1)
    strides, dilations = steps(node, "Stride"), _dilations(node)
    if channels < 1 or image[3] % channels or filters % max(image[3] // channels, 1):
        raise Refusal(f"an image of {image[3]} channels, and {filters} filters of {channels}")
    pads = padding(node, image[1:3], tuple(taps), strides, dilations)
    op = Conv(strides, dilations, pads, groups=image[3] // channels, channels_last=True)
    return _filtered(node, op, node.input(1), Weights(0, 1, 2, filters))


def depthwise_conv_2d(node: Node) -> Sequence[str]:
    image, (one, *taps, filters) = check_image(node), check_image(node, 1)
    strides, dilations, channels = steps(node, "Stride"), _dilations(node), image[3]
    if one != 1 or filters % channels:
        raise Refusal(f"an image of {channels} channels, and filters of shape {list(node.shape(1))}")
    pads = padding(node, image[1:3], tuple(taps), strides, dilations)
    op = Conv(strides, dilations, pads, groups=channels, channels_last=True)
    w = node.emit(Transpose((3, 1, 2, 0)), node.input(1))
    return _filtered(node, op, w, Weights(0, 1, 2, filters))


def _dilations(node: Node) -> tuple[int, int]:
    found = int(node.option("DilationHFactor", 1)), int(node.option("DilationWFactor", 1))
    if min(found) < 1:
        raise Refusal(f"dilation is {found}; at least 1 is expected")
    return found


def transpose_conv(node: Node) -> Sequence[str]:
    """Operands are the result's shape, weights, image, bias."""
    image, (filters, *taps, channels) = check_image(node, 2), check_image(node, 1)
    shape = node.integers(0, "the result's shape")
    if len(shape) != 4 or channels != image[3] or shape[3] != filters or shape[0] != image[0] or min(shape) < 1:
        raise Refusal(f"an image of shape {list(image)}, {filters} filters of {channels} channels, a result of {shape}")
    node.check_elements(shape)
    strides = steps(node, "Stride")
    before = padding(node, (shape[1], shape[2]), tuple(taps), strides)[:2]
    op = ConvTranspose(strides=strides, before=before, spatial=(shape[1], shape[2]))
    w = node.emit(Transpose((3, 0, 1, 2)), node.input(1))
    return _filtered(node, op, w, Weights(2, 1, 3, filters))


def _filtered(node: Node, op: Filters, w: str, at: Weights) -> Sequence[str]:
    """A convolution in the arithmetic of its types."""
    if node.dtype(at.x) == "float32" and node.dtype(at.w) == "int8":
        return hybrid.convolution(node, op, w, at.filters)
    if node.dtype(at.x) == "float32":
        return [activated(node, _placed(node, op, [node.input(at.x), w, _float_bias(node, at)]))]
    zero = operand(node, at.x)[1]
    rounding = node.meant.rounding if isinstance(op, Conv) else node.meant.others
    requant, bias, mul, add = _scaled(node, at, rounding)
    op = replace(op, x_zero=zero, requant=requant)
    return [_placed(node, op, [node.input(at.x), w, bias, mul, add])]


def _placed(node: Node, op: Filters, inputs: Sequence[str]) -> str:
    """Transposed convolutions have their channels second."""
    if isinstance(op, Conv):
        return node.emit(op, *inputs)
    turned = node.emit(Transpose(TO_SECOND), inputs[0])
    return node.emit(Transpose(TO_LAST), node.emit(op, turned, *inputs[1:]))


def _float_bias(node: Node, at: Weights) -> str:
    if not node.has(at.b):
        return ""
    if node.type(at.b).elements != at.filters or node.dtype(at.b) != "float32":
        raise Refusal(f"a bias of {node.type(at.b)} for {at.filters} filters")
    return node.emit(Reshape((at.filters,)), node.input(at.b))


# ---- integers -------------------------------------------------------------------------------------------------------


def _scaled(node: Node, at: Weights, rounding: Rounding) -> tuple[Requant, str, str, str]:
    """The requantisation of a layer's totals, and its operands: the bias, mul and add."""
    x_scale, _ = operand(node, at.x)
    weights = node.quantisation(at.w)
    if node.dtype(at.w) != "int8" or np.any(weights.zero_point):
        raise Refusal(f"weights are {node.dtype(at.w)} with zero points; int8 around 0 is supported", "quantise again")
    if len(weights.scale) not in (1, at.filters):
        raise Refusal(f"{len(weights.scale)} scales for {at.filters} filters")
    scales = np.float64(x_scale) * weights.scale.astype(np.float64)
    wide = node.dtype(at.x) == "int16"
    if wide and rounding != Rounding.FLOAT:
        rounding = Rounding.SINGLE
    requant, mul, add = requantised(node, scales, rounding, activation_of(node))
    mul, bias = reduced(mul) if wide and rounding == Rounding.SINGLE else mul, _bias(node, at, wide)
    if add is not None and len(mul) > 1:
        bias, mul, add = _settled(node, at, requant, bias, mul, add)
    has_bias = node.has(at.b) or bool(np.any(bias))
    return (
        requant, node.add_constant(bias, "bias") if has_bias else "", node.add_constant(mul, "mul"),
        "" if add is None else node.add_constant(add, "exponents"),
    )  # fmt: skip


def _settled(
    node: Node, at: Weights, requant: Requant, bias: Array, mul: Array, add: Array
) -> tuple[Array, Array, Array]:
    """Filters of nothing but zeros always give the same: converters leave them extreme biases and scales, which no
    engine but the slowest takes. Here they get a bias that is the result times 16, and 1 / 16 as their scale."""
    weights = node.value(at.w)
    if weights is None:
        return bias, mul, add
    idle = _sums(np.abs(weights.astype(np.int64)), at.filters) == 0
    results = requant(bias, mul, add).astype(np.int64) - requant.zero_point
    bias, mul = np.where(idle, results << 4, bias), np.where(idle, 1 << 30, mul)
    return bias.astype(np.int32), mul.astype(np.int32), np.where(idle, -3, add).astype(np.int32)


def _bias(node: Node, at: Weights, wide: bool) -> Array:
    """In int32: totals of 16-bit activations have 64 bits in TensorFlow Lite, but do not need them."""
    given = node.constant(at.b, "the bias").reshape(-1).astype(np.int64) if node.has(at.b) else np.zeros(1, np.int64)
    if given.size not in (1, at.filters):
        raise Refusal(f"a bias of {given.size} values for {at.filters} filters")
    if wide:
        _refuse_overflow(node, at, given)
    low, high = limits("int32")
    if given.min() < low or given.max() > high:
        raise Refusal(f"a bias of {given[np.argmax(np.abs(given))]} does not fit 32 bits", "quantise again")
    return np.broadcast_to(given, (at.filters,)).astype(np.int32)


def _refuse_overflow(node: Node, at: Weights, bias: Array) -> None:
    weights = np.abs(node.constant(at.w, "the weights").astype(np.int64))
    largest = int(weights.sum()) if weights.ndim < 2 else int(_sums(weights, at.filters).max())
    if largest * 2**15 + int(np.abs(bias).max()) >= 2**31:
        raise Refusal("sums of 16-bit activations may need more than 32 bits", "quantise activations to 8 bits")


def _sums(weights: Array, filters: int) -> Array:
    """Of each filter; its axis is the first or, of depthwise convolutions, the last."""
    if weights.shape[0] == filters:
        return np.asarray(weights.reshape(filters, -1).sum(1))
    return np.asarray(weights.reshape(-1, filters).sum(0))


# ---- products -------------------------------------------------------------------------------------------------------


def fully_connected(node: Node) -> Sequence[str]:
    if int(node.option("WeightsFormat", 0)) != 0:
        raise Refusal("weights are in a shuffled format", "convert the model again")
    if len(node.shape(1)) != 2 or 0 in node.shape(1):
        raise Refusal(f"weights of shape {list(node.shape(1))}; two axes are expected")
    columns, length = node.shape(1)
    rows, rest = divmod(node.type(0).elements, length)
    if rest:
        raise Refusal(f"rows of {length} elements from an input of shape {list(node.shape(0))}")
    x = node.emit(Reshape((rows, length)), node.input(0)) if node.shape(0) != (rows, length) else node.input(0)
    made = _connected(node, x, Weights(0, 1, 2, columns))
    shape = (*node.shape(0)[:-1], columns) if node.option("KeepNumDims", False) else (rows, columns)
    return [made if shape == (rows, columns) else node.emit(Reshape(shape), made)]


def _connected(node: Node, x: str, at: Weights) -> str:
    if node.dtype(0) == "float32" and node.dtype(1) == "int8":
        return hybrid.product(node, x, at.filters)
    if node.dtype(0) == "float32":
        return activated(node, node.emit(MatMul(trans_b=True), x, node.input(1), _float_bias(node, at)))
    zero = operand(node, 0)[1]
    requant, bias, mul, add = _scaled(node, at, node.meant.products)
    op = MatMul(trans_b=True, a_zero=zero, requant=requant)
    return node.emit(op, x, node.input(1), bias, mul, add)


def batch_matmul(node: Node) -> Sequence[str]:
    op = MatMul(trans_a=bool(node.option("AdjX", False)), trans_b=bool(node.option("AdjY", False)))
    if min(len(node.shape(0)), len(node.shape(1))) < 2:
        raise Refusal(f"factors of shapes {list(node.shape(0))} and {list(node.shape(1))}; matrices are expected")
    if node.dtype(0) == node.dtype(1) == "float32":
        return [node.emit(op, node.input(0), node.input(1))]
    if node.dtype(0) != "int8" or node.dtype(1) != "int8":
        raise Refusal(f"factors of {node.dtype(0)} and {node.dtype(1)}", "float32 and int8 are supported")
    (a_scale, a_zero), (b_scale, b_zero) = operand(node, 0), operand(node, 1)
    requant, mul, add = requantised(node, a_scale * b_scale, node.meant.others)
    op = replace(op, a_zero=a_zero, b_zero=b_zero, requant=requant)
    exponents = "" if add is None else node.add_constant(add, "exponents")
    return [node.emit(op, node.input(0), node.input(1), "", node.add_constant(mul, "mul"), exponents)]


RULES = {
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "TRANSPOSE_CONV": transpose_conv,
    "FULLY_CONNECTED": fully_connected,
    "BATCH_MATMUL": batch_matmul,
}

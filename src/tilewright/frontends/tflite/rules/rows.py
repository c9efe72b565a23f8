"""Softmax and other operators on whole rows, and resized images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.quantisation import operand, result
from tilewright.frontends.tflite.windows import activated, check_image
from tilewright.frontends.tflite.words import word_softmax
from tilewright.ir import tflite_fixed_point as fixed_point
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_rounding import high_product, multiplier
from tilewright.ir.types import Array, limits
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.gather import Gather
from tilewright.ops.logsoftmax import LogSoftmax
from tilewright.ops.lookup import ENTRIES
from tilewright.ops.max import Max
from tilewright.ops.mul import Mul
from tilewright.ops.qlinearsoftmax import EXP_BITS, NUMERATOR_BITS, QLinearSoftmax
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.resize import Resize
from tilewright.ops.softmax import Softmax
from tilewright.ops.sqrt import Sqrt
from tilewright.ops.tflitel2norm import TfliteL2Norm
from tilewright.ops.tflitesoftmax import TfliteSoftmax

DIFFERENCE_BITS = 5
"""Integer bits of what the exponential is taken of."""
RESIZE_BITS = 10


# ---- softmax --------------------------------------------------------------------------------------------------------


def softmax(node: Node) -> Sequence[str]:
    beta = float(node.option("Beta", 1.0))
    if not math.isfinite(beta) or beta <= 0:
        raise Refusal(f"beta {beta} is not supported")
    if not node.shape(0):
        raise Refusal("a scalar has no rows")
    axis = len(node.shape(0)) - 1
    if not node.is_quantised():
        x = node.input(0) if beta == 1.0 else node.emit(Mul(), node.input(0), _scalar(node, beta))
        return [node.emit(Softmax(axis), x)]
    if node.dtype() == "int16":
        return [word_softmax(node, beta)]
    if node.meant.float_softmax:
        return [_float_softmax(node, beta, axis)]
    return [_fixed_softmax(node, beta)]


def _scalar(node: Node, value: float) -> str:
    return node.add_constant(np.asarray(value, np.float32), "factor")


def _fixed_softmax(node: Node, beta: float) -> str:
    """In fixed point; exponentials of bytes are a table."""
    scale, zero, dtype = result(node)
    bits = 16 if dtype == "int16" else 8
    if not math.isclose(scale, 2.0**-bits, rel_tol=1e-3) or zero != limits(dtype)[0]:
        expected = f"1/{2**bits} and {limits(dtype)[0]} are expected"
        raise Refusal(f"its result has scale {scale:g} and zero point {zero}; {expected}")
    factor = min(beta * np.float64(operand(node, 0)[0]) * 2.0 ** (31 - DIFFERENCE_BITS), 2.0**31 - 1)
    mul, shift = multiplier(float(factor))
    if shift < 0:
        raise Refusal(f"beta times the scale of its operand is {factor / 2.0**26:g}, too small", "quantise it again")
    table = exponentials(mul, shift)
    return node.emit(TfliteSoftmax(dtype), node.input(0), node.add_constant(table, "exponentials"))


def exponentials(mul: int, shift: int) -> Array:
    """exp(-d) for every distance d of two bytes, with 31 fractional bits; 0 for those that are too far."""
    distance = -np.arange(ENTRIES, dtype=np.int64)
    counted = distance >= -fixed_point.input_radius(DIFFERENCE_BITS, shift)
    raw = high_product(np.where(counted, distance, 0) << shift, mul)
    return np.where(counted, fixed_point.exp_negative(raw, DIFFERENCE_BITS), 0).astype(np.int32)


def _float_softmax(node: Node, beta: float, axis: int) -> str:
    """Exponentials of floats: the nearest of what softmax is."""
    scale, zero, dtype = result(node)
    real = -np.arange(ENTRIES) * np.float64(np.float32(operand(node, 0)[0]) * np.float32(beta))
    table = np.round(np.exp(real) * 2.0**EXP_BITS).astype(np.int32)
    shift = round(NUMERATOR_BITS - 1 + math.log2(scale))
    requant = Requant(shift, dtype, *limits(dtype), zero)
    op = QLinearSoftmax(axis, 2 ** (NUMERATOR_BITS - 1), requant)
    return node.emit(op, node.input(0), node.add_constant(table, "exponentials"))


def log_softmax(node: Node) -> Sequence[str]:
    if node.is_quantised():
        raise Refusal(f"LOG_SOFTMAX of {node.dtype()} is not supported", "keep this operator in float32")
    return [node.emit(LogSoftmax(len(node.shape(0)) - 1), node.input(0))]


def l2_normalization(node: Node) -> Sequence[str]:
    if node.is_quantised():
        return [_lengths_of_bytes(node)]
    squares = node.emit(Mul(), node.input(0), node.input(0))
    length = node.emit(ReduceSum((len(node.shape(0)) - 1,), True), squares)
    root = node.emit(Sqrt(), node.emit(Max(), length, _scalar(node, 1e-12)))
    return [activated(node, node.onnx("Div", [node.input(0), root])[0])]


def _lengths_of_bytes(node: Node) -> str:
    """The kernels know but one scale and zero point of the result."""
    scale, zero, dtype = result(node)
    if {node.dtype(), dtype} != {"int8"} or not math.isclose(scale, 1 / 128, rel_tol=1e-3) or zero:
        expected = "int8 to int8 of scale 1/128 and zero point 0 is expected"
        raise Refusal(f"{node.dtype()} to {dtype} of scale {scale:g} and zero point {zero}; {expected}")
    return node.emit(TfliteL2Norm(operand(node, 0)[1]), node.input(0))


# ---- images ---------------------------------------------------------------------------------------------------------


def _sizes(node: Node) -> tuple[tuple[int, int], tuple[int, int]]:
    image, wanted = check_image(node), node.integers(1, "the size")
    if len(wanted) != 2 or min(wanted) < 1:
        raise Refusal(f"the size {wanted}; rows and columns are expected")
    node.check_elements((image[0], *wanted, image[3]))
    return (image[1], image[2]), (wanted[0], wanted[1])


def resize_nearest_neighbor(node: Node) -> Sequence[str]:
    made = node.input(0)
    corners, centres = bool(node.option("AlignCorners", False)), bool(node.option("HalfPixelCenters", False))
    for axis, (size, wanted) in enumerate(zip(*_sizes(node), strict=True), 1):
        where = (np.arange(wanted, dtype=np.float32) + np.float32(0.5 if centres else 0.0)) * _ratio(node, size, wanted)
        found = np.floor(where + np.float32(0.5)) if corners else np.floor(where)
        table = np.clip(found, 0, size - 1).astype(np.int32)
        made = node.emit(Gather(axis), made, node.add_constant(table, "rows"))
    return [made]


def resize_bilinear(node: Node) -> Sequence[str]:
    sizes = _sizes(node)
    if node.dtype() == "float32":
        return [_interpolated(node, sizes)]
    if node.dtype() != "int8":
        raise Refusal(f"RESIZE_BILINEAR of {node.dtype()} is not supported", "float32 and int8 are supported")
    return [_interpolated_bytes(node, sizes)]


def _interpolated(node: Node, sizes: tuple[tuple[int, int], tuple[int, int]]) -> str:
    made = node.input(0)
    for axis, (size, wanted) in reversed(list(enumerate(zip(*sizes, strict=True), 1))):
        where = _positions(node, size, wanted)
        first = np.maximum(np.floor(where), 0).astype(np.int32)
        last = np.minimum(np.ceil(where), size - 1).astype(np.int32)
        rest = (where - first).astype(np.float32)
        tables = np.stack([first, last], 1), np.stack([np.float32(1) - rest, rest], 1)
        made = node.emit(Resize(axis), made, *(node.add_constant(table, "taps") for table in tables))
    return made


def _ratio(node: Node, size: int, wanted: int) -> np.float32:
    """From one position of the result to the next."""
    if node.option("AlignCorners", False) and wanted > 1:
        return np.float32(np.float32(size - 1) / np.float32(wanted - 1))
    return np.float32(np.float32(size) / np.float32(wanted))


def _positions(node: Node, size: int, wanted: int) -> Array:
    ratio = _ratio(node, size, wanted)
    steps = np.arange(wanted, dtype=np.float32)
    if node.option("HalfPixelCenters", False):
        return np.asarray((steps + np.float32(0.5)) * ratio - np.float32(0.5))
    return np.asarray(steps * ratio)


def _interpolated_bytes(node: Node, sizes: tuple[tuple[int, int], tuple[int, int]]) -> str:
    """Four neighbours with weights of 10 bits for each axis; one rounding, ties away from zero."""
    made = node.emit(Cast("int32"), node.input(0))
    for axis, (size, wanted) in enumerate(zip(*sizes, strict=True), 1):
        first, last, rest = _whole_positions(node, size, wanted)
        shape = [-1 if at == axis else 1 for at in range(4)]
        parts = []
        for table, weight in ((first, (1 << RESIZE_BITS) - rest), (last, rest)):
            taken = node.emit(Gather(axis), made, node.add_constant(table.astype(np.int32), "rows"))
            factor = node.add_constant(weight.astype(np.int32).reshape(shape), "weights")
            parts.append(node.emit(Mul(), taken, factor))
        made = node.emit(Add(), *parts)
    requant = Requant(2 * RESIZE_BITS, "int8", -128, 127, 0, Rounding.HALF_AWAY)
    one, none = (node.add_constant(np.array([value], np.int32), "factor") for value in (1, 0))
    return node.emit(RequantShift(requant), made, one, none)


def _whole_positions(node: Node, size: int, wanted: int) -> tuple[Array, Array, Array]:
    """Both neighbours, and how far each position is beyond the first, in units of 2**-10."""
    unit = 1 << RESIZE_BITS
    ratio = (unit * size + wanted // 2) // wanted
    if node.option("AlignCorners", False) and wanted > 1:
        ratio = (unit * (size - 1) + (wanted - 1) // 2) // (wanted - 1)
    where = np.arange(wanted, dtype=np.int64) * ratio
    if node.option("HalfPixelCenters", False):
        where = where + ratio // 2 - unit // 2
    first = np.maximum(np.trunc(where / unit), 0).astype(np.int64)
    last = np.minimum(np.trunc((where + unit - 1) / unit), size - 1).astype(np.int64)
    return first, last, where - unit * first


RULES = {
    "SOFTMAX": softmax, "LOG_SOFTMAX": log_softmax, "L2_NORMALIZATION": l2_normalization,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest_neighbor, "RESIZE_BILINEAR": resize_bilinear,
}  # fmt: skip

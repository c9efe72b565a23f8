"""Functions of one tensor. Of bytes they become tables, whose entries are what TensorFlow Lite's kernels give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.quantisation import BOUNDS, RELU, RELU6, RELU_N1_TO_1, clamp, operand, result
from tilewright.frontends.tflite.words import sigmoid
from tilewright.ir import tflite_fixed_point as fixed_point
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_rounding import divided_by_power, factors, multiplier, scaled
from tilewright.ir.types import Array, limits
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.clip import Clip
from tilewright.ops.dequant import Dequant
from tilewright.ops.gelu import Gelu
from tilewright.ops.identity import Identity
from tilewright.ops.leakyrelu import LeakyRelu
from tilewright.ops.lookup import Lookup
from tilewright.ops.mul import Mul
from tilewright.ops.quant import Quant
from tilewright.ops.relu import Relu
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.sub import Sub

XNN_BITS = 8
"""Fractional bits of the factor by which XNNPACK rescales bytes."""


def _bytes(node: Node) -> Array:
    """Every value of the operand's type, without its zero point."""
    low, high = limits(node.dtype())
    return np.arange(low, high + 1, dtype=np.int64) - operand(node, 0)[1]


def _tabulated(node: Node, values: Array) -> Sequence[str]:
    """A table of what every byte becomes, clipped to the result's type."""
    dtype = result(node)[2]
    table = np.clip(values, *limits(dtype)).astype(dtype)
    return [node.emit(Lookup(), node.input(0), node.add_constant(table, "table"))]


def _is_bytes(node: Node) -> bool:
    return node.dtype() in ("int8", "uint8") and node.is_quantised()


def _rescaled(node: Node, values: Array, rounding: Rounding, factor: float = 1.0) -> Array:
    """Numbers in the operand's unit (times a factor) in the result's, with its zero point."""
    scale, zero, _ = result(node)
    if rounding == Rounding.FLOAT:
        ratio = np.float32(operand(node, 0)[0]) * np.float32(factor) / np.float32(scale)
        return ((values * int(np.rint(ratio * np.float32(2**XNN_BITS))) + (1 << (XNN_BITS - 1))) >> XNN_BITS) + zero
    mul, add = factors(operand(node, 0)[0] * factor / scale, rounding)
    return scaled(values, mul, add, rounding) + zero


# ---- rectifiers -----------------------------------------------------------------------------------------------------


def _rectifier(activation: int) -> Callable[[Node], Sequence[str]]:
    def rule(node: Node) -> Sequence[str]:
        if node.dtype() == "float32":
            return [node.emit(Relu() if activation == RELU else Clip(*BOUNDS[activation]), node.input(0))]
        scale, zero, dtype = result(node)
        if activation != RELU and node.meant.name == "micro" and operand(node, 0) != (scale, zero):
            raise Refusal("TensorFlow Lite Micro takes it with one scale only", "--tflite-rounding reference rescales")
        if not _is_bytes(node):
            return [_requantised(node, node.meant.integers, clamp(activation, scale, zero, dtype))]
        rescaled = _rescaled(node, _bytes(node), node.meant.integers)
        return _tabulated(node, np.clip(rescaled, *clamp(activation, scale, zero, dtype)))

    return rule


def leaky_relu(node: Node) -> Sequence[str]:
    alpha = float(node.option("Alpha", 0.0))
    if not math.isfinite(alpha):
        raise Refusal(f"alpha {alpha} is not supported")
    if node.is_quantised() and node.dtype() == "int16":
        return _two_slopes(node, alpha)
    if not _is_bytes(node):
        return [node.emit(LeakyRelu(alpha), node.input(0))]
    values, how = _bytes(node), node.meant.others
    return _tabulated(node, np.where(values >= 0, _rescaled(node, values, how), _rescaled(node, values, how, alpha)))


def _two_slopes(node: Node, below: float) -> Sequence[str]:
    """Words in the result's scale, those below zero times a factor: the sum of two halves, each clipped at zero."""
    scale, zero, dtype = result(node)
    in_scale, in_zero = operand(node, 0)
    if zero or in_zero or dtype != "int16":
        raise Refusal(f"its zero points are {in_zero} and {zero}, its result is {dtype}; int16 of 0 is expected")
    low, high = limits(dtype)
    upper = _scaled_words(node, in_scale / scale, (0, high))
    if not below:
        return [upper]
    lower = _scaled_words(node, in_scale * below / scale, (low, 0) if below > 0 else (0, high))
    return [node.emit(Add(), upper, lower)]


def _scaled_words(node: Node, factor: float, bounds: tuple[int, int]) -> str:
    """Elements times a factor, which may be below zero, within bounds."""
    how = node.meant.integers
    mul, exponents = factors(abs(factor), how)
    requant = Requant(0, "int16", *bounds, 0, how)
    constants = [np.copysign(mul, factor).astype(np.int32), np.zeros(1, np.int32) if exponents is None else exponents]
    names = [node.add_constant(one, name) for one, name in zip(constants, ("mul", "exponents"), strict=True)]
    return node.emit(RequantShift(requant), node.input(0), *names)


# ---- fixed point ----------------------------------------------------------------------------------------------------

INTEGER_BITS = 4
FAR = np.float32(2.0**20)
"""Beyond the range of every type: infinity is no integer."""


def _saturating(node: Node, function: Callable[[Array, int], Array], bits: int) -> Array:
    """A function of 32-bit numbers with four integer bits, its result with `bits` fractional bits."""
    scale = np.float64(operand(node, 0)[0]) * 2.0 ** (31 - INTEGER_BITS)
    mul, exponent = multiplier(float(scale))
    radius, values = fixed_point.input_radius(INTEGER_BITS, exponent), _bytes(node)
    inside = np.abs(values) < radius
    raw = scaled(np.where(inside, values, 0), np.array([mul]), np.array([exponent]), Rounding.DOUBLE)
    found = divided_by_power(function(raw, INTEGER_BITS), 31 - bits)
    return np.where(inside, found, np.where(values < 0, -(2**30), 2**30))


def _by_floats(node: Node, function: Callable[[Array], Array]) -> Array:
    """Entries from floats: real numbers of the operand, the function, the nearest of the result."""
    scale, zero, _ = result(node)
    real = np.float32(operand(node, 0)[0]) * _bytes(node).astype(np.float32)
    value = function(real.astype(np.float64)).astype(np.float32) * (np.float32(1.0) / np.float32(scale))
    value = np.clip(value, -FAR, FAR)
    rounded = np.sign(value) * np.floor(np.abs(value) + np.float32(0.5))
    return np.asarray(rounded.astype(np.int64) + zero)


def logistic(node: Node) -> Sequence[str]:
    if node.is_quantised() and node.dtype() == "int16":
        return [sigmoid(node, is_tanh=False)]
    if not _is_bytes(node):
        return _float(node, "Sigmoid")
    if node.meant.float_softmax:
        return _tabulated(node, _by_floats(node, _logistic_of_floats))
    return _tabulated(node, _saturating(node, fixed_point.logistic, 8) + _fixed_zero(node, 1 / 256, -128))


def _logistic_of_floats(x: Array) -> Array:
    """Every step rounded to float32, as the runtime's: a result between two bytes may depend on it."""
    one = np.float32(1.0)
    return np.asarray(one / (one + np.exp(-x).astype(np.float32)))


def tanh(node: Node) -> Sequence[str]:
    if node.is_quantised() and node.dtype() == "int16":
        return [sigmoid(node, is_tanh=True)]
    if not _is_bytes(node):
        return _float(node, "Tanh")
    if node.meant.float_softmax:
        return _tabulated(node, _by_floats(node, np.tanh))
    return _tabulated(node, _saturating(node, fixed_point.tanh, 7) + _fixed_zero(node, 1 / 128, 0))


def _fixed_zero(node: Node, scale: float, zero: int) -> int:
    """The kernels know but one scale and zero point of the result."""
    found = result(node)
    if not math.isclose(found[0], scale, rel_tol=1e-3) or found[1] != zero or found[2] != "int8":
        raise Refusal(f"its result is {found[2]} of scale {found[0]:g} and zero point {found[1]}, "
                      f"int8 of {scale:g} and {zero} is expected", "quantise the model again")  # fmt: skip
    return zero


def _short(mul: int) -> int:
    """A multiplier of 16 bits."""
    return 0x7FFF if mul >= 0x7FFF0000 else (mul + (1 << 15)) >> 16


def _high_short(a: Array, b: Array | int) -> Array:
    """a * b / 2**15 of 16-bit numbers, ties up, saturating."""
    product: Array = np.asarray(a * b + (1 << 14), np.int64)
    return np.clip(product >> 15, -(2**15), 2**15 - 1)


def hard_swish(node: Node) -> Sequence[str]:
    if not _is_bytes(node):
        return _float(node, "HardSwish")
    scale, zero, _ = result(node)
    fine = np.float32(1.0 / 128.0) * np.float32(operand(node, 0)[0])
    out_mul, out_exponent = multiplier(float(np.float32(fine / np.float32(scale))))
    relu_mul, relu_exponent = multiplier(float(np.float32(fine / np.float32(3.0 / 32768.0))))
    x = _bytes(node) * 128
    unshifted = _high_short(x, _short(out_mul))
    gate = np.clip(x << max(relu_exponent - 1, 0), -(2**15), 2**15 - 1) if relu_exponent > 0 else x
    gate = _high_short(gate, _short(relu_mul))
    gate = np.clip(2 * gate, -(2**15), 2**15 - 1) if relu_exponent > 0 else divided_by_power(gate, -relu_exponent)
    product = (gate + (1 << 15)) // 2 * unshifted
    product = np.where(product < 0, -(-product >> 15), product >> 15)
    return _tabulated(node, divided_by_power(product, max(-out_exponent, 0)) + zero)


# ---- between types --------------------------------------------------------------------------------------------------


def quantize(node: Node) -> Sequence[str]:
    """From floats, or from one scale to another."""
    scale, zero, dtype = result(node)
    if node.dtype() == "float32":
        return [node.emit(Quant(scale, zero, *limits(dtype)), node.input(0))]
    if node.dtype() in ("int8", "uint8"):
        return _tabulated(node, _rescaled(node, _bytes(node), _between_bytes(node, dtype)))
    return [_requantised(node, node.meant.others, limits(dtype))]


def _requantised(node: Node, rounding: Rounding, bounds: tuple[int, int]) -> str:
    """Elements of more than 8 bits in the scale of the result, within bounds."""
    scale, zero, dtype = result(node)
    in_scale, in_zero = operand(node, 0)
    mul, add = factors(in_scale / scale, rounding)
    x = node.input(0)
    if in_zero:
        x = node.emit(Sub(wide=True), x, node.add_constant(np.asarray(in_zero, node.dtype()), "zero"))
    exponents = node.add_constant(np.zeros(1, np.int32) if add is None else add, "exponents")
    return node.emit(
        RequantShift(Requant(0, dtype, *bounds, zero, rounding)), x, node.add_constant(mul, "mul"), exponents
    )


def _between_bytes(node: Node, dtype: str) -> Rounding:
    """XNNPACK rescales int8 to int8 only; all else is LiteRT's own then."""
    if dtype == "int16":
        return node.meant.integers
    return Rounding.DOUBLE_UP if node.meant.name == "float" and dtype != node.dtype() else node.meant.rounding


def dequantize(node: Node) -> Sequence[str]:
    if node.dtype() == "float32":
        return [node.input(0)]
    given = node.quantisation(0)
    if len(given.scale) > 1:
        return [_dequantised_channels(node)]
    scale, zero = operand(node, 0)
    return [node.emit(Dequant(scale, zero), node.input(0))]


def _dequantised_channels(node: Node) -> str:
    """Constants with a scale for each position along an axis."""
    given, value = node.quantisation(0), node.constant(0, "what has several scales")
    shape = [-1 if axis == given.axis else 1 for axis in range(value.ndim)]
    real = (value.astype(np.int64) - given.zero_point.reshape(shape)).astype(np.float32) * given.scale.reshape(shape)
    return node.add_constant(real.astype(np.float32), "floats")


def cast(node: Node) -> Sequence[str]:
    to = node.scope.stored_dtype(node.result())
    return [node.input(0) if to == node.dtype() else node.emit(Cast(to), node.input(0))]


# ---- floats ---------------------------------------------------------------------------------------------------------


def _float(node: Node, kind: str) -> Sequence[str]:
    if node.is_quantised():
        raise Refusal(f"{node.operator.kind} of {node.dtype()} is not supported", "keep this operator in float32")
    return node.onnx(kind, [node.input(0)])


def _of_floats(kind: str) -> Callable[[Node], Sequence[str]]:
    return lambda node: _float(node, kind)


def absolute(node: Node) -> Sequence[str]:
    if node.is_quantised() and node.dtype() == "int16":
        return _two_slopes(node, -1.0)
    if not _is_bytes(node):
        return _float(node, "Abs")
    return _tabulated(node, _rescaled(node, np.abs(_bytes(node)), node.meant.integers))


def rsqrt(node: Node) -> Sequence[str]:
    if _is_bytes(node):
        return _tabulated(node, _inverse_roots(node))
    root = _float(node, "Sqrt")[0]
    return node.onnx("Reciprocal", [root])


ROOT_BITS = 20
"""Fractional bits of an inverse root."""


def _inverse_roots(node: Node) -> Array:
    """0 gives the largest; negative numbers stop TensorFlow Lite, and give the same here."""
    scale, zero, dtype = result(node)
    mul, exponent = multiplier(1.0 / (math.sqrt(operand(node, 0)[0]) * scale))
    roots = [fixed_point.inverse_square_root(int(value)) for value in _bytes(node) if value > 0]
    how, one = node.meant.integers, np.ones(len(roots), np.int64)
    factors = np.array([root for root, _ in roots]), np.array([power + ROOT_BITS for _, power in roots])
    found = scaled(scaled(one, *factors, how), np.array([mul]), np.array([exponent - ROOT_BITS]), how) + zero
    return np.append(np.full(256 - len(roots), limits(dtype)[1]), found)


def _of_bytes(kind: str, function: Callable[[Array], Array]) -> Callable[[Node], Sequence[str]]:
    """A function that TensorFlow Lite Micro has of floats only: of bytes it is LiteRT's, by a table of floats."""

    def rule(node: Node) -> Sequence[str]:
        return _tabulated(node, _by_floats(node, function)) if _is_bytes(node) else _float(node, kind)

    return rule


def _logarithm(x: Array) -> Array:
    """Of what has none, the lowest."""
    return np.asarray(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), -np.inf))


def square(node: Node) -> Sequence[str]:
    if node.is_quantised():
        raise Refusal(f"{node.operator.kind} of {node.dtype()} is not supported", "keep this operator in float32")
    return [node.emit(Mul(), node.input(0), node.input(0))]


def elu(node: Node) -> Sequence[str]:
    if _is_bytes(node):
        return _tabulated(node, _by_floats(node, lambda x: np.where(x < 0, np.expm1(x), x)))
    return node.onnx("Elu", [node.input(0)])


def gelu(node: Node) -> Sequence[str]:
    approximate = "tanh" if node.option("Approximate", False) else "none"
    if _is_bytes(node):
        return _tabulated(node, _by_floats(node, Gelu(approximate).function))
    if node.is_quantised():
        raise Refusal(f"GELU of {node.dtype()} is not supported", "keep this operator in float32")
    return node.onnx("Gelu", [node.input(0)], approximate=approximate)


def sqrt(node: Node) -> Sequence[str]:
    """Of bytes LiteRT's, which leaves out what is behind the point; negative numbers, which stop it, are 0 here."""
    if node.dtype() != "int8" or not node.is_quantised():
        return _float(node, "Sqrt")
    scale, zero, _ = result(node)
    real = np.float32(operand(node, 0)[0]) * np.maximum(_bytes(node), 0).astype(np.float32)
    return _tabulated(node, np.floor(np.sqrt(real) / np.float32(scale)).astype(np.int64) + zero)


def prelu(node: Node) -> Sequence[str]:
    if _is_bytes(node):
        return [_slopes(node)]
    return node.onnx("PRelu", [node.input(0), node.input(1)])


def _slopes(node: Node) -> str:
    """A table for each channel."""
    alpha, (unit, zero) = node.constant(1, "the slopes"), operand(node, 1)
    channels = node.shape(0)[-1]
    if alpha.size not in (1, channels) or alpha.shape[-1:] != (alpha.size,):
        raise Refusal(f"slopes of shape {list(alpha.shape)} for {channels} channels", "share them along other axes")
    values, how, (scale, middle, dtype) = _bytes(node), node.meant.integers, result(node)
    ratio = np.float32(operand(node, 0)[0]) * np.float32(unit) / np.float32(scale)
    products = values * (alpha.reshape(-1, 1).astype(np.int64) - zero)
    below = scaled(products, *factors(float(ratio), how), how) + middle
    above = _rescaled(node, values, how)
    tables = np.clip(np.where(values >= 0, above, below), *limits(dtype)).astype(dtype)
    if alpha.size == 1:
        return node.emit(Lookup(), node.input(0), node.add_constant(tables[0], "table"))
    return node.emit(Lookup(len(node.shape(0)) - 1), node.input(0), node.add_constant(tables, "tables"))


def same(node: Node) -> Sequence[str]:
    return [node.emit(Identity(), node.input(0))]


FLOATS = {
    "NEG": "Neg", "SIN": "Sin", "COS": "Cos",
    "FLOOR": "Floor", "CEIL": "Ceil", "ROUND": "Round", "SIGN": "Sign", "LOGICAL_NOT": "Not",
}  # fmt: skip

RULES = {
    "RELU": _rectifier(RELU), "RELU6": _rectifier(RELU6), "RELU_N1_TO_1": _rectifier(RELU_N1_TO_1),
    "LEAKY_RELU": leaky_relu, "LOGISTIC": logistic, "TANH": tanh, "HARD_SWISH": hard_swish, "QUANTIZE": quantize,
    "DEQUANTIZE": dequantize, "CAST": cast, "RSQRT": rsqrt, "SQRT": sqrt, "SQUARE": square, "ELU": elu, "GELU": gelu,
    "PRELU": prelu, "ABS": absolute, "EXP": _of_bytes("Exp", np.exp), "LOG": _of_bytes("Log", _logarithm),
    **{name: _of_floats(kind) for name, kind in FLOATS.items()},
}  # fmt: skip

"""Operators on two tensors, broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.quantisation import activation_of, clamp, operand, requantised, result
from tilewright.frontends.tflite.quotients import quotient
from tilewright.frontends.tflite.windows import activated
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_rounding import multiplier, scaled
from tilewright.ir.types import Array, limits
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.div import Div
from tilewright.ops.floor import Floor
from tilewright.ops.lookup import Lookup
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.mul import Mul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.sub import Sub
from tilewright.ops.tfliteadd import Summand, TfliteAdd

SHIFTS = {"int8": 20, "uint8": 20, "int16": 15}
"""By how many bits summands are shifted to the left before anything is rounded."""
SQUARE_BITS = 7
"""By how many bits differences that are squared are shifted to the left."""
FLOAT_BITS = 20
"""Fractional bits of the larger factor, of sums whose arithmetic is meant as XNNPACK's."""


def _both(node: Node, op: Op) -> str:
    return node.emit(op, node.input(0), node.input(1))


# ---- sums -----------------------------------------------------------------------------------------------------------


def add(node: Node) -> Sequence[str]:
    return [_sum(node, 1) if node.is_quantised() else activated(node, _both(node, Add()))]


def sub(node: Node) -> Sequence[str]:
    return [_sum(node, -1) if node.is_quantised() else activated(node, _both(node, Sub()))]


def _sum(node: Node, sign: int) -> str:
    if node.dtype(0) != node.dtype(1) or node.dtype(0) != node.result().dtype:
        raise Refusal(f"adds {node.dtype(0)} and {node.dtype(1)} to {node.result().dtype}")
    if node.meant.rounding == Rounding.FLOAT:
        return _both(node, _float_sum(node, sign))
    left = SHIFTS[node.dtype()]
    scales = [operand(node, position)[0] for position in (0, 1)]
    twice = 2.0 * max(np.float64(scale) for scale in scales)
    first, second = (_summand(node, position, twice) for position in (0, 1))
    requant = _requant(node, node.meant.rounding)
    mul, exponent = multiplier(float(twice / (2.0**left * np.float64(result(node)[0]))))
    second = Summand(second.zero, sign * second.mul, second.exponent)
    return _both(node, TfliteAdd(left, first, second, mul, exponent, requant))


def _summand(node: Node, position: int, twice: float) -> Summand:
    scale, zero = operand(node, position)
    return Summand(zero, *multiplier(float(np.float64(scale) / twice)))


def _requant(node: Node, rounding: Rounding) -> Requant:
    scale, zero, dtype = result(node)
    low, high = clamp(activation_of(node), scale, zero, dtype)
    return Requant(0, dtype, low, high, zero, rounding)


def _float_sum(node: Node, sign: int) -> QLinearAdd:
    """By factors of one power of two for both, as XNNPACK adds."""
    pairs = [operand(node, position) for position in (0, 1)]
    ratios = [np.float32(scale) / np.float32(result(node)[0]) for scale, _ in pairs]
    shift = FLOAT_BITS - int(np.floor(np.log2(float(max(ratios)))))
    if not 1 <= shift <= 30:
        raise Refusal(f"scales {pairs[0][0]:g} and {pairs[1][0]:g} are too far from the result's {result(node)[0]:g}")
    first, second = (int(np.rint(np.float64(ratio) * 2.0**shift)) for ratio in ratios)
    plain = _requant(node, Rounding.HALF_UP)
    requant = Requant(shift, plain.dtype, plain.low, plain.high, plain.zero_point)
    return QLinearAdd(first, sign * second, -first * pairs[0][1] - sign * second * pairs[1][1], requant)


# ---- products -------------------------------------------------------------------------------------------------------


def mul(node: Node) -> Sequence[str]:
    if not node.is_quantised():
        return [activated(node, _both(node, Mul()))]
    (a_scale, a_zero), (b_scale, b_zero) = operand(node, 0), operand(node, 1)
    # The scales of two floats are multiplied as floats.
    unit = float(np.float32(a_scale) * np.float32(b_scale))
    requant, factor, exponent = requantised(node, unit, node.meant.others, activation_of(node))
    added = 0 if exponent is None else int(exponent[0])
    return [_both(node, QLinearMul(a_zero, b_zero, int(factor[0]), requant, added))]


def div(node: Node) -> Sequence[str]:
    if node.is_quantised() and {node.dtype(0), node.dtype(1), node.result().dtype} in ({"int8"}, {"uint8"}):
        return [quotient(node)]
    _refuse_quantised(node)
    return [activated(node, _both(node, Div()))]


def squared_difference(node: Node) -> Sequence[str]:
    if node.is_quantised():
        return [_squared_difference(node)]
    difference = _both(node, Sub())
    return [node.emit(Mul(), difference, difference)]


def _squared_difference(node: Node) -> str:
    """Of bytes: both by tables in a common unit, whose difference has 16 bits, and its square 31."""
    first, second, result = node.dtype(0), node.dtype(1), node.result().dtype
    if {first, second, result} != {"int8"}:
        what = f"SQUARED_DIFFERENCE of {first} and {second} to {result} is not supported"
        raise Refusal(what, "quantise operands and result to int8")
    twice = 2.0 * max(np.float64(operand(node, position)[0]) for position in (0, 1))
    sides = [_shifted(node, position, twice) for position in (0, 1)]
    wide = node.emit(Cast("int32"), node.emit(Sub(), *sides))
    unit = float(twice * twice / 2.0 ** (2 * SQUARE_BITS))
    requant, factor, exponent = requantised(node, unit, node.meant.integers)
    added = node.add_constant(np.zeros(1, np.int32) if exponent is None else exponent, "exponents")
    return node.emit(RequantShift(requant), node.emit(Mul(), wide, wide), node.add_constant(factor, "mul"), added)


def _shifted(node: Node, position: int, twice: float) -> str:
    """A table of 16-bit numbers."""
    scale, zero = operand(node, position)
    factor, exponent = multiplier(float(np.float64(scale) / twice))
    values: Array = (np.arange(-128, 128) - zero) << SQUARE_BITS
    table = scaled(values, np.array([factor]), np.array([exponent]), node.meant.integers).astype(np.int16)
    return node.emit(Lookup(), node.input(position), node.add_constant(table, "units"))


def floor_div(node: Node) -> Sequence[str]:
    """Of integers: one less than the quotient toward zero, where what is left of that has the other sign."""
    _refuse_quantised(node)
    quotient = _both(node, Div())
    if node.dtype() == "float32":
        return [node.emit(Floor(), quotient)]
    left = node.emit(Sub(), node.input(0), node.emit(Mul(), quotient, node.input(1)))
    (floored,) = node.onnx("Mod", [node.input(0), node.input(1)])
    (same,) = node.onnx("Equal", [left, floored])
    one = node.add_constant(np.ones((), node.type(0).element), "one")
    return [node.emit(Sub(), quotient, node.emit(Sub(), one, node.emit(Cast(node.dtype()), same)))]


def _refuse_quantised(node: Node) -> None:
    if node.is_quantised():
        raise Refusal(f"{node.operator.kind} of {node.dtype()} is not supported", "keep this operator in float32")


# ---- order ----------------------------------------------------------------------------------------------------------


def _extreme(op: Op) -> Callable[[Node], Sequence[str]]:
    def rule(node: Node) -> Sequence[str]:
        if node.is_quantised() and not operand(node, 0) == operand(node, 1) == result(node)[:2]:
            raise Refusal("operands and result differ in scale or zero point", "quantise the model again")
        return [_both(node, op)]

    return rule


def _comparison(kind: str) -> Callable[[Node], Sequence[str]]:
    def rule(node: Node) -> Sequence[str]:
        operands = [node.input(0), node.input(1)]
        if node.is_quantised() and operand(node, 0) != operand(node, 1):
            operands = [_comparable(node, position) for position in (0, 1)]
        return node.onnx(kind, operands)

    return rule


def _comparable(node: Node, position: int) -> str:
    """Bytes in a common unit: a table of 32-bit numbers."""
    if node.dtype(position) not in ("int8", "uint8"):
        raise Refusal(f"compares {node.dtype(position)} of different scales", "quantise both alike")
    scale, zero = operand(node, position)
    low, high = limits(node.dtype(position))
    factor, exponent = multiplier(float(np.float64(scale)))
    values: Array = (np.arange(low, high + 1) - zero) << 8
    table = scaled(values, np.array([factor]), np.array([exponent]), node.meant.others).astype(np.int32)
    return node.emit(Lookup(), node.input(position), node.add_constant(table, "units"))


def not_equal(node: Node) -> Sequence[str]:
    return node.onnx("Not", [_comparison("Equal")(node)[0]])


def _plain(kind: str) -> Callable[[Node], Sequence[str]]:
    def rule(node: Node) -> Sequence[str]:
        _refuse_quantised(node)
        return node.onnx(kind, [node.input(0), node.input(1)])

    return rule


COMPARISONS = {
    "LESS": "Less", "LESS_EQUAL": "LessOrEqual", "GREATER": "Greater", "GREATER_EQUAL": "GreaterOrEqual",
    "EQUAL": "Equal",
}  # fmt: skip

RULES = {
    "ADD": add, "SUB": sub, "MUL": mul, "DIV": div, "SQUARED_DIFFERENCE": squared_difference, "FLOOR_DIV": floor_div,
    "MAXIMUM": _extreme(Max()), "MINIMUM": _extreme(Min()), "NOT_EQUAL": not_equal, "POW": _plain("Pow"),
    "FLOOR_MOD": _plain("Mod"), "LOGICAL_AND": _plain("And"), "LOGICAL_OR": _plain("Or"),
    **{name: _comparison(kind) for name, kind in COMPARISONS.items()},
}  # fmt: skip

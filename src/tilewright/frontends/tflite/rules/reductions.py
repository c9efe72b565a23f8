"""Sums, means and extremes along axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.quantisation import operand, result
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_rounding import multiplier
from tilewright.ir.types import Shape, limits
from tilewright.ops.add import Add
from tilewright.ops.argmax import ArgMax
from tilewright.ops.argmin import ArgMin
from tilewright.ops.cast import Cast
from tilewright.ops.cumsum import CumSum
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducemin import ReduceMin
from tilewright.ops.reduceprod import ReduceProd
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.requantshift import RequantShift


def _axes(node: Node) -> tuple[Shape, bool]:
    rank = len(node.shape(0))
    axes = {node.axis(axis, rank) for axis in node.integers(1, "the axes")} if rank else set()
    return tuple(sorted(axes)), bool(node.option("KeepDims", False))


def mean(node: Node) -> Sequence[str]:
    axes, keep = _axes(node)
    if not node.is_quantised():
        return [node.emit(ReduceMean(axes, keep), node.input(0))]
    return [_scaled_sum(node, axes, keep, math.prod(node.shape(0)[axis] for axis in axes))]


def total(node: Node) -> Sequence[str]:
    axes, keep = _axes(node)
    if not node.is_quantised():
        return [node.emit(ReduceSum(axes, keep), node.input(0))]
    return [_scaled_sum(node, axes, keep, 1)]


def _scaled_sum(node: Node, axes: Shape, keep: bool, count: int) -> str:
    """The sum of what elements are beyond their zero point, times a scale that the count is part of."""
    (scale, zero), (out_scale, out_zero, dtype) = operand(node, 0), result(node)
    elements = math.prod(node.shape(0)[axis] for axis in axes)
    if elements < 1 or elements * 2**16 >= 2**31:
        raise Refusal(f"a sum of {elements} elements may need more than 32 bits", "reduce fewer at a time")
    wide = node.emit(ReduceSum(axes, keep, wide=True), node.emit(Cast("int32"), node.input(0)))
    if zero:
        wide = node.emit(Add(), wide, node.add_constant(np.asarray(-zero * elements, np.int32), "zero"))
    mul, exponent = _divided(*multiplier(float(np.float64(scale) / np.float64(out_scale))), count)
    rounding = node.meant.others
    if rounding == Rounding.FLOAT:
        rounding = Rounding.DOUBLE
    requant = Requant(0, dtype, *limits(dtype), out_zero, rounding)
    factors = [node.add_constant(np.array([value], np.int32), "factor") for value in (mul, exponent)]
    return node.emit(RequantShift(requant), wide, *factors)


def _divided(mul: int, exponent: int, count: int) -> tuple[int, int]:
    """A multiplier divided by a count, with as many bits as there is room for."""
    if count == 1:
        return mul, exponent
    shift = min(count.bit_length() - 1, 32, 31 + exponent)
    return (mul << shift) // count, exponent - shift


def _extreme(op: Callable[[Shape, bool], ReduceMax | ReduceMin]) -> Callable[[Node], Sequence[str]]:
    def rule(node: Node) -> Sequence[str]:
        if node.is_quantised() and operand(node, 0) != result(node)[:2]:
            raise Refusal("operand and result differ in scale or zero point", "quantise the model again")
        return [node.emit(op(*_axes(node)), node.input(0))]

    return rule


def product(node: Node) -> Sequence[str]:
    if node.is_quantised():
        raise Refusal(f"REDUCE_PROD of {node.dtype()} is not supported", "keep this operator in float32")
    return [node.emit(ReduceProd(*_axes(node)), node.input(0))]


def _position(op: Callable[[int, bool], ArgMax | ArgMin]) -> Callable[[Node], Sequence[str]]:
    def rule(node: Node) -> Sequence[str]:
        (axis,) = node.integers(1, "the axis")[:1] or (0,)
        made = node.emit(op(node.axis(axis, len(node.shape(0))), False), node.input(0))
        return [node.emit(Cast(node.result().dtype), made)]

    return rule


def cumsum(node: Node) -> Sequence[str]:
    (axis,) = node.integers(1, "the axis")[:1] or (0,)
    op = CumSum(
        node.axis(axis, len(node.shape(0))), bool(node.option("Exclusive", False)), bool(node.option("Reverse", False))
    )
    if node.is_quantised():
        raise Refusal(f"CUMSUM of {node.dtype()} is not supported", "keep this operator in float32")
    return [node.emit(op, node.input(0))]


RULES = {
    "MEAN": mean, "SUM": total, "REDUCE_MAX": _extreme(ReduceMax), "REDUCE_MIN": _extreme(ReduceMin),
    "REDUCE_PROD": product, "ARG_MAX": _position(ArgMax), "ARG_MIN": _position(ArgMin), "CUMSUM": cumsum,
}  # fmt: skip

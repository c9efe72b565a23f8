"""Convolutions and matrix products of quantised tensors: int32 sums, with the bias and the requantisation inside."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Node
from tilewright.ir.requant import Requant, fixed_point
from tilewright.ir.types import Array, Shape
from tilewright.ops._filters import Filters
from tilewright.ops._qlinear import reach
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.matmul import MatMul
from tilewright.passes.quantise.pending import Pending, Target, vector
from tilewright.passes.quantise.values import Context, NoIntegerForm, Value
from tilewright.records import dataclass

NEGLIGIBLE = 2.0**-12
"""A part of the result's unit that hardly ever changes a rounding."""

SUM_LIMIT = 2**31 - 1
"""Sums with their bias are int32."""


UNHEARD = 2.0**-7
"""Of a step of the result: what a bias is more than a multiple of the sums' unit, if it is less, is left out. It would
decide about one result in hundreds, where the exact value is a tie, and cost 64-bit arithmetic for all of them."""


@dataclass(frozen=True)
class Linear:
    """Sums of products of two quantised tensors, without their zero points."""

    op: Filters | MatMul
    left: Value
    right: Value
    bound: Array
    """How large a sum can be; like all arrays here it has the result's rank and broadcasts with it."""

    @property
    def largest(self) -> float:
        return float(self.bound.max(initial=0.0))

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        source, factor, summand = self._without_dead_filters(context, factor, summand, to)
        exact = summand / factor
        bias = np.rint(exact)
        source.check_sums(bias)
        mul, shift = fixed_point(factor, rounds_to_odd=True)
        mul = mul.reshape(factor.shape)
        rest = np.rint((exact - bias) * mul)
        small = np.all(np.abs((exact - bias) * factor) < UNHEARD)
        arrays = [bias if np.any(bias) else None, mul, None if small else rest]
        return source.add_node(context, arrays, to.requant(shift), output)

    def check_sums(self, bias: Array) -> None:
        if np.any(self.bound + np.abs(bias) > SUM_LIMIT):
            raise NoIntegerForm("its sums may overflow 32 bits")

    def add_node(
        self, context: Context, arrays: list[Array | None], requant: Requant | None, output: str | None
    ) -> str:
        """The integer operator; `arrays` are bias, mul and add."""
        zeros = self.left.zero, self.right.zero
        op: Filters | MatMul
        if isinstance(self.op, MatMul):
            op = replace(self.op, a_zero=zeros[0], b_zero=zeros[1], alpha=1.0, beta=1.0, requant=requant)
        else:
            op = replace(self.op, x_zero=zeros[0], w_zero=zeros[1], requant=requant)
        names = ("bias", "mul", "add")
        extra = [self._operand(context, array, name) for array, name in zip(arrays, names, strict=True)]
        return context.emit(op, [self.left.tensor, self.right.tensor, *extra], output)

    def _operand(self, context: Context, array: Array | None, name: str) -> str:
        if array is None:
            return ""
        if array.ndim and np.unique(array).size == 1:
            compact = array.reshape(-1)[:1]
        elif isinstance(self.op, MatMul):
            compact = _without_leading_ones(array)
        else:
            axis, compact = vector(array)
            if axis > 1 or axis == 0:
                raise NoIntegerForm(f"its {name} varies along axis {axis}")
        return context.builder.constant(compact.astype(np.int32), f"{context.builder.node_name}_{name}")

    def _without_dead_filters(
        self, context: Context, factor: Array, summand: Array, to: Target
    ) -> tuple[Linear, Array, Array]:
        """Filters whose weights are too small to matter, but whose bias is not, get no weights and another factor.

        In their own tiny unit the bias would not fit 32 bits.
        """
        factor, summand, bound = np.broadcast_arrays(factor, summand, self.bound)
        reached = bound * np.abs(factor)
        saturated = reached + max(to.high - to.zero, to.zero - to.low) + 1
        summand = np.clip(summand, -saturated, saturated)
        dead = (reached < NEGLIGIBLE) & (np.abs(summand) + reached >= SUM_LIMIT / 2 * np.abs(factor))
        if not np.any(dead):
            return self, factor, summand
        largest = np.max(np.abs(factor[~dead]), initial=0.0) or 1.0
        source = self._silenced(context, dead) if np.any(bound[dead]) else self
        return source, np.where(dead, largest, factor), summand

    def _silenced(self, context: Context, dead: Array) -> Linear:
        weights = context.array(self.right.tensor)
        if weights is None or not isinstance(self.op, Conv):
            raise NoIntegerForm("its bias does not fit 32 bits")
        kept = np.where(dead.reshape(-1, *(1,) * (weights.ndim - 1)), self.right.zero, weights).astype(weights.dtype)
        right = replace(self.right, tensor=context.builder.constant(kept, self.right.tensor))
        return replace(self, right=right, bound=np.where(dead, 0, self.bound))


def pending_linear(context: Context, node: Node) -> Pending:
    """What a float convolution or matrix product of dequantised tensors is before its requantisation."""
    left, right = context.value(node.inputs[0]), _one_zero(context, context.value(node.inputs[1]))
    shape = context.shape(node.key)
    if isinstance(node.op, MatMul):
        scale, bound = _product_scale(node.op, left, right, shape), _product_bound(context, node.op, left, right, shape)
        bias = _bias(context, node, len(shape)) * node.op.beta
        return Pending(Linear(node.op, left, right, bound), scale * node.op.alpha, bias)
    op = instance(node.op, Filters)
    filters = (1, shape[1], *(1,) * (len(shape) - 2))
    scale = left.scale * _per_filter(op, right, right.scales, shape[1])
    bound = _filter_bound(context, op, right, shape[1]) * reach(left.kind.dtype, left.zero)
    bias = _bias(context, node, 1).reshape(-1)
    source = Linear(op, left, right, _spread(bound, filters))
    return Pending(source, _spread(scale, filters), _spread(bias, filters))


def dequantised(context: Context, node: Node, pending: Pending, output: str) -> str:
    """The float result where nothing quantises it: int32 sums times their scale."""
    source = instance(pending.source, Linear)
    if not np.all(np.isfinite(pending.offset)):
        raise NoIntegerForm("its bias is not finite")
    exact = pending.offset / pending.scale
    # A quantised bias has been a float32 on the way here.
    whole = bool(np.all(np.abs(exact - np.rint(exact)) <= NEGLIGIBLE + np.abs(exact) * 2.0**-22))
    bias = np.rint(exact) if whole else np.zeros(1)
    source.check_sums(bias)
    total = source.add_node(context, [bias if np.any(bias) else None, None, None], None, None)
    axis, scales = vector(pending.scale)
    constants = [
        context.builder.constant(scales.astype(np.float32), f"{node.name}_scale"),
        context.builder.constant(np.zeros(scales.shape, np.int32), f"{node.name}_zero"),
    ]
    op = DequantizeLinear(max(axis, 0))
    if whole:
        return context.emit(op, [total, *constants], output)
    summand = context.builder.constant(pending.offset.astype(np.float32), f"{node.name}_bias")
    return context.emit(Add(), [context.emit(op, [total, *constants]), summand], output)


def _bias(context: Context, node: Node, rank: int) -> Array:
    if len(node.inputs) < 3 or not node.inputs[2]:
        return np.zeros((1,) * rank)
    bias = context.known(node.inputs[2])
    if bias is None:
        raise NoIntegerForm("its bias is computed at run time")
    return bias.astype(np.float64).reshape((1,) * (rank - bias.ndim) + bias.shape)


def _one_zero(context: Context, value: Value) -> Value:
    """Constants whose zero points differ from channel to channel are stored without them."""
    constant = context.array(value.tensor)
    if constant is None or np.unique(value.zeros).size == 1:
        return value
    centred = constant.astype(np.int32) - value.along(value.zeros, constant.ndim, value.axis)
    dtype = "int8" if centred.min() >= -128 and centred.max() <= 127 else "int16"
    tensor = context.builder.constant(centred.astype(dtype), value.tensor)
    return replace(value, tensor=tensor, kind=context.builder.types[tensor], zeros=np.zeros(1, np.int64))


# ---- convolutions -------------------------------------------------------------------------------------------------


def _per_filter(op: Filters, weights: Value, values: Array, filters: int) -> Array:
    """One value per filter from one per position along W's axis of filters."""
    if values.size == 1:
        return values
    axis = 0 if isinstance(op, Conv) else 1
    if weights.axis != axis:
        raise NoIntegerForm(f"its weights are quantised along axis {weights.axis}")
    return np.tile(values, filters // values.size)


def _filter_bound(context: Context, op: Filters, weights: Value, filters: int) -> Array:
    """The sum of the magnitudes of each filter's weights."""
    constant = context.array(weights.tensor)
    if constant is None:
        return np.array([math.prod(weights.kind.shape[1:]) * reach(weights.kind.dtype, weights.zero)], np.float64)
    centred = np.abs(constant.astype(np.float64) - weights.zero)
    if isinstance(op, Conv):
        return np.asarray(centred.reshape(filters, -1).sum(1))
    grouped = centred.reshape(op.groups, -1, constant.shape[1], math.prod(constant.shape[2:]))
    return np.asarray(grouped.sum((1, 3))).reshape(-1)


def _spread(values: Array, shape: Shape) -> Array:
    return values.reshape(shape) if values.size > 1 else values.reshape((1,) * len(shape))


# ---- matrix products ----------------------------------------------------------------------------------------------


def _product_scale(op: MatMul, left: Value, right: Value, shape: Shape) -> Array:
    rows, columns = _axes(op, left, right)
    rank = len(shape)
    factors = np.ones((1,) * rank)
    if not left.is_per_tensor:
        factors = factors * _along_result(left, rows, rank - (2 if columns is not None else 1), rank)
    if not right.is_per_tensor:
        factors = factors * _along_result(right, columns, rank - 1, rank)
    return factors * (left.scale if left.is_per_tensor else 1.0) * (right.scale if right.is_per_tensor else 1.0)


def _axes(op: MatMul, left: Value, right: Value) -> tuple[int | None, int | None]:
    """The axis of A that holds rows and the axis of B that holds columns."""
    a, b = len(left.kind.shape), len(right.kind.shape)
    rows = None if a == 1 else a - 1 if op.trans_a else a - 2
    columns = None if b == 1 else b - 2 if op.trans_b else b - 1
    return rows, columns


def _along_result(value: Value, axis: int | None, position: int, rank: int) -> Array:
    if axis is None or value.axis != axis:
        raise NoIntegerForm(f"it multiplies along the axis {value.axis} that it is quantised along")
    return value.along(value.scales, rank, position)


def _product_bound(context: Context, op: MatMul, left: Value, right: Value, shape: Shape) -> Array:
    rows = left.kind.shape
    inner = rows[-2] if op.trans_a and len(rows) > 1 else rows[-1]
    bound = float(inner * reach(left.kind.dtype, left.zero) * reach(right.kind.dtype, right.zero))
    for value, other, axis in ((left, right, -2 if op.trans_a else -1), (right, left, -1 if op.trans_b else -2)):
        constant = context.array(value.tensor)
        if constant is not None and constant.size:
            sums = np.abs(constant.astype(np.float64) - value.zero).sum(axis if constant.ndim > 1 else 0)
            bound = min(bound, float(sums.max()) * reach(other.kind.dtype, other.zero))
    return np.full((1,) * len(shape), bound)


def _without_leading_ones(values: Array) -> Array:
    while values.ndim > 1 and values.shape[0] == 1:
        values = values[0]
    return values

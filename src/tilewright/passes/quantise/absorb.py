"""What a requantisation can absorb: from a float tensor back to the integers that it is computed from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from tilewright.errors import CompileError, instance
from tilewright.ir.graph import Node
from tilewright.ir.types import Array, limits
from tilewright.ops._filters import Filters
from tilewright.ops.add import Add
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.clip import Clip
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.div import Div
from tilewright.ops.globalaveragepool import GlobalAveragePool
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.grucells import GRUCells
from tilewright.ops.identity import Identity
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.lstmcells import LSTMCells
from tilewright.ops.matmul import MatMul
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.mul import Mul
from tilewright.ops.neg import Neg
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.relu import Relu
from tilewright.ops.resize import Resize
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.sub import Sub
from tilewright.passes.quantise.linear import pending_linear
from tilewright.passes.quantise.pending import Pending
from tilewright.passes.quantise.resize import pending_resize
from tilewright.passes.quantise.rotation import is_sum_of_products, pending_rotation
from tilewright.passes.quantise.rows import pending_rows
from tilewright.passes.quantise.sums import Constant, Mean, Plain, Product, Total, WindowMean
from tilewright.passes.quantise.values import MOVES, Context, Format, NoIntegerForm, Value

FACTOR_CONSTANT = "int16"
"""How float constants are stored that are multiplied with quantised tensors element by element."""


def by_requantisation(context: Context, tensor: str, to: Format, output: str | None) -> str | None:
    """Integer arithmetic with a requantisation at its end."""
    for way in ways(context, tensor):
        try:
            return way().quantised(context, to, output)
        except (NoIntegerForm, CompileError) as refusal:
            context.reason = refusal.what if isinstance(refusal, CompileError) else str(refusal)
    return None


def ways(context: Context, tensor: str) -> Iterator[Callable[[], Pending]]:
    """The ways in which a float tensor can be seen as integers, the best first; each may turn out not to work."""
    node = context.producer(tensor)
    if node is None or node.outputs[0] != tensor:
        return
    if is_sum_of_products(context, node):
        yield lambda: pending_rotation(context, node)
    if isinstance(node.op, Add | Sub):
        yield lambda: _shifted(context, node)
        yield lambda: _total(context, node)
    elif isinstance(node.op, Mul | Div):
        yield lambda: _scaled(context, node)
        yield lambda: _product(context, node)
    else:
        yield lambda: _one_operand(context, node)


def pending(context: Context, tensor: str) -> Pending:
    """The first way that works."""
    reason = f"tensor '{tensor}' does not come from quantised ones"
    for way in ways(context, tensor):
        try:
            return way()
        except NoIntegerForm as refusal:
            reason = str(refusal)
    raise NoIntegerForm(reason)


def _one_operand(context: Context, node: Node) -> Pending:
    op = node.op
    if isinstance(op, Filters | MatMul):
        return pending_linear(context, node)
    if isinstance(op, AveragePool | GlobalAveragePool | ReduceMean | ReduceSum):
        return _mean(context, node)
    if isinstance(op, BatchNormalization):
        return _normalised(context, node)
    if isinstance(op, GroupNormalization | LayerNormalization | RMSNormalization):
        return pending_rows(context, node, _operand(context, node.inputs[0]))
    if isinstance(op, Resize):
        return pending_resize(context, node, _operand(context, node.inputs[0]))
    if isinstance(op, Identity):
        return pending(context, node.inputs[0])
    if isinstance(op, Neg):
        return pending(context, node.inputs[0]).times(np.array(-1.0))
    if isinstance(op, Relu | Clip | Max | Min):
        return _clamped(context, node)
    if isinstance(op, (DequantizeLinear, *MOVES)):
        return _plain(context.value(node.key))
    if isinstance(op, LSTMCells | GRUCells):
        raise NoIntegerForm("cells between quantisers are float cells; compile(quantise=) has cells of integers")
    raise NoIntegerForm(f"{op.kind} has no integer form")


def _plain(value: Value) -> Pending:
    rank = len(value.kind.shape)
    scale = value.along(value.scales, rank, value.axis)
    return Pending(Plain(value), scale, -scale * value.along(value.zeros, rank, value.axis))


def _mean(context: Context, node: Node) -> Pending:
    value = context.value(node.inputs[0])
    rank = len(context.shape(node.key))
    scale, zero = np.full((1,) * rank, value.scale), np.zeros((1,) * rank)
    if isinstance(node.op, AveragePool):
        return Pending(WindowMean(value, node.op), scale, zero)
    if isinstance(node.op, ReduceMean):
        return Pending(Mean(value, node.op.axes, node.op.keepdims), scale, zero)
    if isinstance(node.op, ReduceSum):
        count = node.op.count({"X": value.kind.shape})
        return Pending(Mean(value, node.op.axes, node.op.keepdims), scale * count, zero)
    return Pending(Mean(value, tuple(range(2, rank)), True), scale, zero)


# ---- factors, summands and clamps that are constants -------------------------------------------------------------


def _normalised(context: Context, node: Node) -> Pending:
    values = [context.known(name) for name in node.inputs[1:]]
    if any(value is None for value in values):
        raise NoIntegerForm("its parameters are computed at run time")
    norm = instance(node.op, BatchNormalization)
    scale, shift = norm.scale_and_shift(*(value.astype(np.float64) for value in values if value is not None))
    shape = (-1, *(1,) * (len(context.shape(node.key)) - 1 - norm.axis))
    return pending(context, node.inputs[0]).times(scale.reshape(shape)).plus(shift.reshape(shape))


def _shifted(context: Context, node: Node) -> Pending:
    """A constant, or one per channel, added to something."""
    left, right = (_constant(context, node, name) for name in node.inputs)
    negative = isinstance(node.op, Sub)
    if right is not None:
        return _like_result(context, node, node.inputs[0]).plus(-right if negative else right)
    if left is None:
        raise NoIntegerForm("both operands are computed at run time")
    other = _like_result(context, node, node.inputs[1])
    return (other.times(np.array(-1.0)) if negative else other).plus(left)


def _scaled(context: Context, node: Node) -> Pending:
    left, right = (_constant(context, node, name) for name in node.inputs)
    if isinstance(node.op, Div):
        if right is None or not np.all(right):
            raise NoIntegerForm("it divides by something computed at run time")
        return _like_result(context, node, node.inputs[0]).times(1 / right)
    factor = left if right is None else right
    if factor is None:
        raise NoIntegerForm("both operands are computed at run time")
    return _like_result(context, node, node.inputs[0 if right is not None else 1]).times(factor)


def _clamped(context: Context, node: Node) -> Pending:
    if isinstance(node.op, Relu):
        return pending(context, node.inputs[0]).clamped(0.0, math.inf)
    if isinstance(node.op, Clip):
        return pending(context, node.inputs[0]).clamped(*node.op.bounds("float32"))
    for name, other in (node.inputs, node.inputs[::-1]):
        bound = context.known(other)
        if bound is not None and bound.size == 1:
            value = float(bound.reshape(-1)[0])
            bounds = (value, math.inf) if isinstance(node.op, Max) else (-math.inf, value)
            return _like_result(context, node, name).clamped(*bounds)
    raise NoIntegerForm("both operands are computed at run time")


def _constant(context: Context, node: Node, name: str) -> Array | None:
    """An operand with one value, or one per position along an axis, in the result's rank."""
    value = context.known(name)
    if value is None or sum(size > 1 for size in value.shape) > 1:
        return None
    rank = len(context.shape(node.key))
    return value.astype(np.float64).reshape((1,) * (rank - value.ndim) + value.shape)


def _like_result(context: Context, node: Node, name: str) -> Pending:
    if context.shape(name) != context.shape(node.key):
        raise NoIntegerForm("it is broadcast")
    return pending(context, name)


# ---- two tensors -------------------------------------------------------------------------------------------------


def _total(context: Context, node: Node) -> Pending:
    left, right = (_summand(context, name) for name in node.inputs)
    one, zero = np.ones((1,) * len(context.shape(node.key))), np.zeros((1,) * len(context.shape(node.key)))
    return Pending(Total(left, right, 1.0, -1.0 if isinstance(node.op, Sub) else 1.0), one, zero)


def _summand(context: Context, name: str) -> Value | Pending | Constant:
    constant = context.known(name)
    # Zeros are quantised with any scale, and a coarse one would take the bits of what they are added to.
    if constant is not None and (_value(context, name) is None or not constant.any()):
        return Constant(constant.astype(np.float64), name)
    return _operand(context, name)


def _operand(context: Context, name: str) -> Value | Pending:
    return _value(context, name) or pending(context, name)


def _product(context: Context, node: Node) -> Pending:
    if isinstance(node.op, Div):
        raise NoIntegerForm("it divides by something computed at run time")
    left, right = (_value(context, name) or _factor(context, name) for name in node.inputs)
    if left is None or right is None:
        raise NoIntegerForm("a factor is not quantised")
    shape = (1,) * len(context.shape(node.key))
    return Pending(Product(left, right), np.full(shape, left.scale * right.scale), np.zeros(shape))


def _value(context: Context, name: str) -> Value | None:
    """A tensor with one scale that is quantised in the graph."""
    try:
        value = context.value(name)
    except NoIntegerForm:
        return None
    return value if value.is_per_tensor else None


def _factor(context: Context, name: str) -> Value | None:
    """A float constant as integers that are finer than any result."""
    constant = context.known(name)
    if constant is None:
        return None
    if not np.all(np.isfinite(constant)):
        raise NoIntegerForm(f"constant '{name}' is not finite")
    values = constant.astype(np.float64)
    scale = float(np.max(np.abs(values), initial=0.0)) / (limits(FACTOR_CONSTANT)[1] // 2) or 1.0
    tensor = context.builder.constant(np.rint(values / scale).astype(FACTOR_CONSTANT), name)
    return Value(tensor, context.builder.types[tensor], np.array([scale]), np.array([0]))

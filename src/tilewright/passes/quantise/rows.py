"""Normalisation of quantised rows: layers, groups of channels, by their deviation or by their root mean square."""

from __future__ import annotations

import math

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Node
from tilewright.ir.op import Op
from tilewright.ir.requant import fixed_point
from tilewright.ir.types import Array, Shape
from tilewright.ops._normalisation import RowNormalisation
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.qlinearrownorm import REACH_BITS, UNIT_BITS, QLinearRowNorm
from tilewright.ops.reshape import Reshape
from tilewright.passes.quantise.pending import Pending, Target
from tilewright.passes.quantise.sums import Constant, Plain, Total
from tilewright.passes.quantise.values import Context, NoIntegerForm, Value
from tilewright.records import dataclass

MAX_SHIFT = 62

SPREAD_BITS = 62
"""Of the squares of a row, with epsilon and their fraction bits."""

SUMMAND_BITS = 60
"""Of what is added to a normalised element before the shift."""


@dataclass(frozen=True)
class Rows:
    """Rows with a mean square of 1 and, if centred, a mean of 0; each row is what is left of a shape from `axis` on."""

    operand: Value | Pending
    shape: Shape
    axis: int
    centred: bool
    epsilon: float
    groups: int = 0
    """If not 0, axis 1 of the tensor is two of `shape`: so many groups, and the channels of a group."""

    @property
    def largest(self) -> float:
        return math.sqrt(self.length)

    @property
    def length(self) -> int:
        return math.prod(self.shape[self.axis :])

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        value, reach = self._stored(context)
        factor, summand = self._spread(self._grouped(factor), self._grouped(summand))
        saturated = self.largest * float(np.abs(factor).max()) + max(to.high - to.zero, to.zero - to.low) + 1
        summand = np.clip(summand, -saturated, saturated)
        shift, lift = _shifts(factor, summand)
        arrays = np.rint(factor * 2.0 ** (shift - UNIT_BITS)), np.rint(summand * 2.0 ** (shift - lift))
        epsilon, fraction = self._epsilon(value.scale, reach or value.reach)
        op = QLinearRowNorm(self.axis, self.centred, value.zero, epsilon, fraction, lift, to.requant(shift), reach)
        names = [
            context.builder.constant(array.astype(np.int32), f"{context.builder.node_name}_{name}")
            for name, array in zip(("mul", "add"), arrays, strict=True)
        ]
        if not self.groups:
            return context.emit(op, [value.tensor, *names], output)
        grouped = context.emit(Reshape(self.shape), [value.tensor])
        return context.emit(Reshape(value.kind.shape), [context.emit(op, [grouped, *names])], output)

    def _grouped(self, values: Array) -> Array:
        """Factors or summands of the tensor on the axes of `shape`."""
        if not self.groups:
            return values
        batch, channels, *rest = values.shape
        split = (1, 1) if channels == 1 else (self.groups, channels // self.groups)
        return values.reshape(batch, *split, *rest)

    def _spread(self, *arrays: Array) -> list[Array]:
        """With the sizes of `shape` on the neighbouring axes from the first to the last on which one varies."""
        long = [axis for array in arrays for axis, size in enumerate(array.shape) if size != 1]
        first, end = min([*long, self.axis]), max([*(axis + 1 for axis in long), self.axis])
        shape = (*(1,) * first, *self.shape[first:end], *(1,) * (len(self.shape) - end))
        return [np.broadcast_to(array, shape) for array in arrays]

    def _stored(self, context: Context) -> tuple[Value, int]:
        """The operand, and how far its elements reach if not as far as their type: sums are as fine as they can be."""
        if isinstance(self.operand, Value):
            return self.operand, 0
        reach = 2 ** max(REACH_BITS - self.length.bit_length(), 0) - 1
        if not reach:
            raise NoIntegerForm(f"its rows have {self.length} elements")
        return self.operand.stored(context, self.operand.finest_unit(reach), "int32"), reach

    def _epsilon(self, scale: float, reach: int) -> tuple[int, int]:
        """In units of the squares of a row's elements times their number, and its fraction bits."""
        if not 0 <= self.epsilon < math.inf:
            raise NoIntegerForm(f"its epsilon is {self.epsilon}")
        epsilon = self.epsilon * (self.length / scale) ** 2
        squares = float(self.length * reach) ** 2
        fraction = SPREAD_BITS - 1 - math.ceil(math.log2(squares + epsilon))
        if fraction < 0:
            raise NoIntegerForm("its rows are too long, or its scale is too small")
        fraction -= fraction % 2
        return round(epsilon * 2.0**fraction), fraction


def pending_rows(context: Context, node: Node, operand: Value | Pending) -> Pending:
    """What a normalisation of quantised rows is before its requantisation."""
    if not _is_quantised(operand):
        raise NoIntegerForm("its operand is not quantised")
    rows = _rows(node.op, context.shape(node.key), operand)
    rank = len(context.shape(node.key))
    behind = rank - 2 if rows.groups else 0
    scale, offset = (*node.inputs[1:], "", "")[:2]
    return Pending(rows, _parameter(context, scale, 1.0, rank, behind), _parameter(context, offset, 0.0, rank, behind))


def _rows(op: Op, shape: Shape, operand: Value | Pending) -> Rows:
    if isinstance(op, GroupNormalization):
        grouped = (shape[0], op.groups, shape[1] // op.groups, *shape[2:])
        return Rows(operand, grouped, 2, True, op.epsilon, op.groups)
    norm = instance(op, RowNormalisation)
    return Rows(operand, shape, norm.axis % len(shape), isinstance(op, LayerNormalization), norm.epsilon)


def _is_quantised(operand: Value | Pending | Constant) -> bool:
    """Whether something has levels or is a sum of what has: a bound of that is not far from what it really reaches."""
    if isinstance(operand, Constant):
        return True
    if isinstance(operand, Value):
        return operand.is_per_tensor
    if isinstance(operand.source, Total):
        return _is_quantised(operand.source.left) and _is_quantised(operand.source.right)
    return isinstance(operand.source, Plain)


def _parameter(context: Context, name: str, default: float, rank: int, behind: int) -> Array:
    """A scale or bias in the result's rank; so many axes lie behind its last."""
    value = context.known(name) if name else np.array(default)
    if value is None:
        raise NoIntegerForm("its parameters are computed at run time")
    behind = behind if value.ndim else 0
    return value.astype(np.float64).reshape((1,) * (rank - value.ndim - behind) + value.shape + (1,) * behind)


def _shifts(factor: Array, summand: Array) -> tuple[int, int]:
    """The shift of the result, and that of the summand before it: the finest that fit 64 and 32 bits."""
    _, finest = fixed_point(factor)
    bits = math.ceil(math.log2(float(np.abs(summand).max(initial=0.0)) + 1))
    shift = min(finest + UNIT_BITS, MAX_SHIFT, SUMMAND_BITS - bits)
    return shift, max(0, shift + bits - REACH_BITS)

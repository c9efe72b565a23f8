"""Layer and RMS normalisation of quantised rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tilewright.ir import Node
from tilewright.ops._normalisation import RowNormalisation
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.qlinearrownorm import REACH_BITS, UNIT_BITS, QLinearRowNorm
from tilewright.passes.quantise_pending import Pending, Target
from tilewright.passes.quantise_sums import Plain, Total
from tilewright.passes.quantise_values import Context, NoIntegerForm, Value
from tilewright.requant import fixed_point
from tilewright.types import Array, Shape

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

    @property
    def largest(self) -> float:
        return math.sqrt(self.length)

    @property
    def length(self) -> int:
        return math.prod(self.shape[self.axis :])

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        value = self.operand if isinstance(self.operand, Value) else self.operand.narrow(context)
        factor, summand = self._row(factor), self._row(summand)
        saturated = self.largest * float(np.abs(factor).max()) + max(to.high - to.zero, to.zero - to.low) + 1
        summand = np.clip(summand, -saturated, saturated)
        shift, lift = _shifts(factor, summand)
        arrays = np.rint(factor * 2.0 ** (shift - UNIT_BITS)), np.rint(summand * 2.0 ** (shift - lift))
        epsilon, fraction = self._epsilon(value)
        op = QLinearRowNorm(self.axis, self.centred, value.zero, epsilon, fraction, lift, to.requant(shift))
        names = [
            context.builder.constant(array.astype(np.int32), f"{context.builder.node_name}_{name}")
            for name, array in zip(("mul", "add"), arrays, strict=True)
        ]
        return context.emit(op, [value.tensor, *names], output)

    def _row(self, values: Array) -> Array:
        if math.prod(values.shape[: self.axis]) != 1:
            raise NoIntegerForm("each row has its own factor or summand")
        row = self.shape[self.axis :]
        return np.broadcast_to(values.reshape(values.shape[self.axis :]), row)

    def _epsilon(self, value: Value) -> tuple[int, int]:
        """In units of the squares of a row's elements times their number, and its fraction bits."""
        epsilon = self.epsilon * (self.length / value.scale) ** 2
        squares = float(self.length * value.reach) ** 2
        fraction = SPREAD_BITS - 1 - math.ceil(math.log2(squares + epsilon))
        if fraction < 0:
            raise NoIntegerForm("its rows are too long, or its scale is too small")
        fraction -= fraction % 2
        return round(epsilon * 2.0**fraction), fraction


def pending_rows(context: Context, node: Node, operand: Value | Pending) -> Pending:
    """What a normalisation of quantised rows is before its requantisation."""
    assert isinstance(node.op, RowNormalisation)
    if not _is_quantised(operand):
        raise NoIntegerForm("its operand is not quantised")
    shape = context.shape(node.key)
    rows = Rows(operand, shape, node.op.axis % len(shape), isinstance(node.op, LayerNormalization), node.op.epsilon)
    scale, offset = (*node.inputs[1:], "", "")[:2]
    return Pending(rows, _parameter(context, scale, 1.0, len(shape)), _parameter(context, offset, 0.0, len(shape)))


def _is_quantised(operand: Value | Pending) -> bool:
    """Whether something has levels or is a sum of what has: 16 bits are fine enough for that."""
    if isinstance(operand, Value):
        return operand.is_per_tensor
    if isinstance(operand.source, Total):
        return _is_quantised(operand.source.left) and _is_quantised(operand.source.right)
    return isinstance(operand.source, Plain)


def _parameter(context: Context, name: str, default: float, rank: int) -> Array:
    value = context.known(name) if name else np.array(default)
    if value is None:
        raise NoIntegerForm("its parameters are computed at run time")
    return value.astype(np.float64).reshape((1,) * (rank - value.ndim) + value.shape)


def _shifts(factor: Array, summand: Array) -> tuple[int, int]:
    """The shift of the result, and that of the summand before it: the finest that fit 64 and 32 bits."""
    _, finest = fixed_point(factor)
    bits = math.ceil(math.log2(float(np.abs(summand).max(initial=0.0)) + 1))
    shift = min(finest + UNIT_BITS, MAX_SHIFT, SUMMAND_BITS - bits)
    return shift, max(0, shift + bits - REACH_BITS)

"""Interpolation of quantised tensors, with fixed-point weights."""

from __future__ import annotations

import math

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Node
from tilewright.ir.types import BYTES, Array
from tilewright.ops.qlinearresize import QLinearResize
from tilewright.ops.resize import Resize
from tilewright.passes.quantise.pending import Pending, Target, only
from tilewright.passes.quantise.values import Context, NoIntegerForm, Value
from tilewright.records import dataclass

SUM_LIMIT = 2**31 - 1

MAX_SHIFT = 30

FRACTIONS = {1: 8, 2: 1, 4: 1}
"""How many units of an operand that is not quantised in the graph make one of a result of so many bytes, at least."""


@dataclass(frozen=True)
class Resized:
    """The interpolation along one axis of a tensor in units of `unit`; it may still wait for its requantisation."""

    operand: Value | Pending
    unit: float
    axis: int
    taps: str
    weight: Array

    @property
    def largest(self) -> float:
        return self.operand.largest / self.unit * self._overshoot

    @property
    def _overshoot(self) -> float:
        return float(np.abs(self.weight).sum(1).max(initial=0.0))

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        scale = only(factor)
        if np.any(summand) or not scale:
            raise NoIntegerForm("something is added to it before it is quantised, or it is multiplied by zero")
        value = self.operand
        if isinstance(value, Pending):
            value = value.narrow(context, self.unit / abs(scale) / FRACTIONS[BYTES[to.dtype]])
        weight = self.weight * (scale * value.scale / self.unit)
        shift = self._finest_shift(value, float(np.abs(weight).sum(1).max(initial=0.0)))
        name = context.builder.constant(np.rint(weight * 2.0**shift).astype(np.int32), f"{self.taps}_weights")
        op = QLinearResize(self.axis, value.zero, to.requant(shift))
        return context.emit(op, [value.tensor, self.taps, name], output)

    def _finest_shift(self, value: Value, weight: float) -> int:
        """The largest with which sums stay below 32 bits, whatever the weights are rounded to."""
        room = (SUM_LIMIT - value.reach * self.weight.shape[1]) / (value.reach * weight + 1)
        if room < 1:
            raise NoIntegerForm("its sums may overflow 32 bits")
        return min(math.floor(math.log2(room)), MAX_SHIFT)


def pending_resize(context: Context, node: Node, operand: Value | Pending) -> Pending:
    """What an interpolation is before its requantisation."""
    op = instance(node.op, Resize)
    weight = context.known(node.inputs[2])
    if weight is None:
        raise NoIntegerForm("its weights are computed at run time")
    unit = operand.scale if isinstance(operand, Value) else float(np.max(np.abs(operand.scale)))
    rank = len(context.shape(node.key))
    source = Resized(operand, unit, op.axis, node.inputs[1], weight.astype(np.float64))
    return Pending(source, np.full((1,) * rank, unit), np.zeros((1,) * rank))

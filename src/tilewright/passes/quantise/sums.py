"""Requantisation, sums, products and means of quantised tensors."""

from __future__ import annotations

import math

import numpy as np

from tilewright.ir.requant import fixed_point
from tilewright.ir.types import BYTES, Array, Shape, limits
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.pad import Pad
from tilewright.ops.qlinearadd import QLinearAdd, magnitude, sum_bits
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.requantshift import RequantShift
from tilewright.passes.quantise.pending import FRACTION_BITS, Pending, Target, only, vector
from tilewright.passes.quantise.values import Context, NoIntegerForm, Value
from tilewright.records import dataclass

MAX_SHIFT = 30

PRODUCT_BITS = 28
"""Of a product's multiplier: leaves room for the product of two 16-bit numbers."""

MEAN_BITS = 28
"""Of a mean's multiplier: leaves room for the number of elements."""


@dataclass(frozen=True)
class Plain:
    """A quantised tensor itself."""

    value: Value

    @property
    def largest(self) -> float:
        return magnitude(self.value.kind.dtype)

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        if factor.size == 1 and summand.size == 1:
            return self._alone(context, only(factor), only(summand), to, output)
        return self._per_channel(context, factor, summand, to, output)

    def _alone(self, context: Context, factor: float, summand: float, to: Target, output: str | None) -> str:
        """The sum of the tensor and nothing."""
        name = context.builder.constant(np.zeros((), np.int8), "nothing")
        nothing = Value(name, context.builder.types[name], np.ones(1), np.zeros(1, np.int64))
        unscaled = Value(self.value.tensor, self.value.kind, np.ones(1), self.value.zeros)
        beyond = np.array(summand + factor * self.value.zero)
        return Total(unscaled, nothing, 1.0, 0.0).emit(context, np.array(factor), beyond, to, output)

    def _per_channel(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        """x * mul + add, where both have to fit 32 bits."""
        if self.value.kind.dtype not in ("int8", "uint8"):
            raise NoIntegerForm(f"{self.value.kind.dtype} is scaled per channel")
        reached = magnitude(self.value.kind.dtype) * np.abs(factor) + max(to.high - to.zero, to.zero - to.low) + 1
        factor, summand = np.broadcast_arrays(factor, np.clip(summand, -reached, reached))
        axis, factors = vector(factor)
        largest = max(float(np.abs(factor).max()), float(np.abs(summand).max()), 2.0**-MAX_SHIFT)
        shift = int(np.clip(MAX_SHIFT - 1 - math.floor(math.log2(largest)), 0, 62))
        arrays = [np.rint(values.reshape(-1) * 2.0**shift).astype(np.int32) for values in (factors, summand)]
        mul, add = (context.builder.constant(array, f"{context.builder.node_name}_factor") for array in arrays)
        return context.emit(RequantShift(to.requant(shift), axis), [self.value.tensor, mul, add], output)


@dataclass(frozen=True)
class Constant:
    """Floats that are added to a quantised tensor element by element."""

    array: Array
    name: str

    @property
    def largest(self) -> float:
        return float(np.max(np.abs(self.array), initial=0.0))

    def wide(self, context: Context, unit: float, dtype: str) -> Value:
        """As int32, in a power of two of what the sum is rounded to: its multiplier is exact then."""
        if not math.isfinite(self.largest):
            raise NoIntegerForm(f"constant '{self.name}' is not finite")
        fine = unit / 2 ** FRACTION_BITS[BYTES[dtype]]
        while self.largest / fine > limits("int32")[1] // 2:
            fine *= 2
        tensor = context.builder.constant(np.rint(self.array / fine).astype(np.int32), self.name)
        return Value(tensor, context.builder.types[tensor], np.array([fine]), np.array([0]))


@dataclass(frozen=True)
class Total:
    """left_sign * left + right_sign * right, in real numbers; operands may still wait for their requantisation."""

    left: Value | Pending | Constant
    right: Value | Pending | Constant
    left_sign: float = 1.0
    right_sign: float = 1.0

    @property
    def largest(self) -> float:
        return self.left.largest + self.right.largest

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        scale, offset = only(factor), only(summand)
        if scale == 0:
            raise NoIntegerForm("it is multiplied by zero")
        a, b = (
            operand if isinstance(operand, Value) else operand.wide(context, 1 / abs(scale), to.dtype)
            for operand in (self.left, self.right)
        )
        factors = scale * self.left_sign * a.scale, scale * self.right_sign * b.scale
        shift = _finest_shift((a, b), factors, offset)
        mul_a, mul_b, fixed = (round(value * 2.0**shift) for value in (*factors, offset))
        # Taken from the rounded multipliers, so that zero stays zero whatever their error is.
        fixed -= mul_a * a.zero + mul_b * b.zero
        return context.emit(QLinearAdd(mul_a, mul_b, fixed, to.requant(shift)), [a.tensor, b.tensor], output)


def _finest_shift(values: tuple[Value, Value], factors: tuple[float, float], offset: float) -> int:
    """The largest shift with which neither a sum nor a multiplier overflows."""
    reaches = [magnitude(value.kind.dtype) + abs(value.zero) for value in values]
    largest = sum(reach * abs(factor) for reach, factor in zip(reaches, factors, strict=True)) + abs(offset) + 0.5
    bits = sum_bits(*(value.kind.dtype for value in values))
    room = bits - 2 - math.ceil(math.log2(largest))
    shift = min(room, MAX_SHIFT - math.ceil(math.log2(max(map(abs, factors)))), MAX_SHIFT if bits == 32 else 62)
    if shift < 0:
        raise NoIntegerForm("its operands are of very different scale")
    return shift


@dataclass(frozen=True)
class Product:
    """(left - its zero) * (right - its zero)."""

    left: Value
    right: Value

    @property
    def largest(self) -> float:
        return self.left.reach * self.right.reach

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        _refuse_summand(summand)
        mul, shift = fixed_point(only(factor), PRODUCT_BITS)
        op = QLinearMul(self.left.zero, self.right.zero, int(mul[0]), to.requant(shift))
        return context.emit(op, [self.left.tensor, self.right.tensor], output)


@dataclass(frozen=True)
class Mean:
    """The mean over some axes of a quantised tensor, without its zero point."""

    value: Value
    axes: Shape
    keepdims: bool

    @property
    def largest(self) -> float:
        return self.value.reach

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        _refuse_summand(summand)
        mul, shift = fixed_point(only(factor), MEAN_BITS)
        op = QLinearReduceMean(self.axes, self.keepdims, self.value.zero, int(mul[0]), to.requant(shift))
        return context.emit(op, [self.value.tensor], output)


@dataclass(frozen=True)
class WindowMean:
    """The mean of each window of a quantised image, without its zero point."""

    value: Value
    op: AveragePool

    @property
    def largest(self) -> float:
        return self.value.reach

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        _refuse_summand(summand)
        tensor, padding = self.value.tensor, self.op.padding
        if self.op.count_pads and any(padding):
            tensor, padding = self._padded(context)
        mul, shift = fixed_point(only(factor), MEAN_BITS)
        geometry = self.op.strides, self.op.dilations, padding, self.op.kernel
        op = QLinearAveragePool(*geometry, self.value.zero, int(mul[0]), to.requant(shift))
        return context.emit(op, [tensor], output)

    def _padded(self, context: Context) -> tuple[str, Shape]:
        """Padding that counts becomes part of the image; what ceil_mode adds never counts."""
        rank = self.op.rank
        ends = tuple(end - rest for end, rest in zip(self.op.padding[rank:], self.op.uncounted, strict=True))
        border = (0, 0, *self.op.padding[:rank], 0, 0, *ends)
        return context.emit(Pad(border, self.value.zero), [self.value.tensor]), (*(0,) * rank, *self.op.uncounted)


def _refuse_summand(summand: Array) -> None:
    if np.any(summand):
        raise NoIntegerForm("something is added to it before it is quantised")

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.op import Index
from tilewright.ir.requant import NO_CHANGE, Requant, shift_right
from tilewright.ir.rounding import PLAIN, Rounding
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._dialect import root
from tilewright.ops._elementwise import broadcast_index
from tilewright.ops._internal import Internal
from tilewright.ops._qlinear import reach
from tilewright.records import dataclass

UNIT_BITS = 20
"""Fraction bits of a normalised element; above them there is room for the root of 2**22 elements."""

ROOT_BITS = 31
"""Of the root of a row's spread, after it was shifted to the left as far as possible."""

REACH_BITS = 30
"""The elements of a row times their number stay below 2**REACH_BITS, their squares below twice that."""


@dataclass(frozen=True)
class QLinearRowNorm(Internal):
    """Layer (or, if not centred, RMS) normalisation of integers over the axes from `axis` on, n elements to a row.

    c = n * (x - x_zero) - sum(x - x_zero), the sum only if centred
    u = c / sqrt(mean of c * c + epsilon / 2**fraction), with UNIT_BITS fraction bits
    y = clamp(round((u * mul + add * 2**lift) / 2**shift) + zero_point)

    `mul` and `add` broadcast with X. They have its sizes on some neighbouring axes, up to `axis` at least, and 1 on the
    others.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "mul", "add")
    roundings: ClassVar[frozenset[Rounding]] = PLAIN
    accepts: ClassVar[frozenset[str]] = frozenset({"int8", "uint8", "int16", "uint16", "int32"})
    axis: int = 0
    centred: bool = True
    x_zero: int = 0
    epsilon: int = 0
    fraction: int = 0
    """Fraction bits of epsilon, an even number."""
    lift: int = 0
    requant: Requant = NO_CHANGE
    x_reach: int = 0
    """How far an element can be from x_zero; 0 where only its type says that."""

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, **{name: broadcast_index(shapes[name], shapes["X"]) for name in ("mul", "add")}, "Y": axes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(f"d{axis}" for axis in range(self.axis, len(shapes["X"])))

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if kind.dtype not in self.accepts:
            raise Refusal(f"X is {kind.dtype}; supported: {', '.join(sorted(self.accepts))}")
        if not 0 <= self.axis < len(kind.shape):
            raise Refusal(f"axis {self.axis} is outside a tensor of rank {len(kind.shape)}")
        first, end = self.block(types["mul"].shape)
        ones = (1,) * first, (1,) * (len(kind.shape) - end)
        wanted = TensorType("int32", (*ones[0], *kind.shape[first:end], *ones[1]))
        for name in ("mul", "add"):
            if types[name] != wanted:
                raise Refusal(f"{name} is {types[name]}, {wanted} expected")
        self._check_widths(kind.dtype, math.prod(kind.shape[self.axis :]))

    def block(self, shape: Shape) -> tuple[int, int]:
        """The axes on which an operand of this shape has the sizes of X: the first, and the one behind the last."""
        long = [axis for axis, size in enumerate(shape) if size != 1]
        return min([*long, self.axis]), max([*(axis + 1 for axis in long), self.axis])

    def _check_widths(self, dtype: str, length: int) -> None:
        largest = length * (self.x_reach or reach(dtype, self.x_zero))
        if largest >= 2**REACH_BITS:
            raise Refusal(f"rows of {length} elements of {dtype}: squares may overflow 64 bits")
        if self.fraction % 2 or self.epsilon < 0 or (largest**2 << self.fraction) + self.epsilon >= 2**62:
            raise Refusal(f"epsilon {self.epsilon} / 2**{self.fraction} does not fit 64 bits")
        if not 0 <= self.lift <= REACH_BITS:
            raise Refusal(f"lift {self.lift} does not fit 64 bits")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, X: Array, mul: Array, add: Array) -> Array:
        total = self._normalised(X) * mul.astype(np.int64) + (add.astype(np.int64) << self.lift)
        value = shift_right(total, self.requant.shift, self.requant.rounding) + self.requant.zero_point
        return np.asarray(np.clip(value, self.requant.low, self.requant.high), self.requant.dtype)

    def _normalised(self, X: Array) -> Array:
        axes = tuple(range(self.axis, X.ndim))
        length = math.prod(X.shape[self.axis :])
        wide = X.astype(np.int64) - self.x_zero
        total = np.sum(wide, axes, keepdims=True) if self.centred else np.zeros((1,) * X.ndim, np.int64)
        spread = length * np.sum(wide * wide, axes, keepdims=True) - total * total
        # Less than one only where all elements are the same: whatever they are divided by, zero is zero.
        spread = np.maximum((spread << self.fraction) + self.epsilon, 1 << self.fraction)
        halved = _room(spread)
        inverse = (1 << (2 * ROOT_BITS - 1)) // root(spread << (2 * halved)).astype(np.int64)
        down = 2 * ROOT_BITS - 1 - UNIT_BITS - self.fraction // 2 - halved
        product = (length * wide - total) * inverse
        return (product + (np.int64(1) << (down - 1))) >> down


def _room(values: Array) -> Array:
    """How many pairs of bits positive numbers can be shifted to the left and stay below 2**62."""
    pairs = np.zeros(values.shape, np.int64)
    for step in (16, 8, 4, 2, 1):
        fits = values << (2 * pairs) < 1 << (2 * (ROOT_BITS - step))
        pairs = np.where(fits, pairs + step, pairs)
    return pairs

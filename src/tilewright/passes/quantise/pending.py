"""Integer results that wait for their requantisation, and the float operators that it can absorb."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Protocol

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import BYTES, Array, limits
from tilewright.passes.quantise.values import Context, Format, NoIntegerForm, Value
from tilewright.records import dataclass

FRACTION_BITS = {1: 16, 2: 12, 4: 0}
"""A result that is not quantised in the graph is kept as int32, with that many bits below the unit of a final result of
so many bytes: what is above must hold sums that are far outside the final range."""

MAX_FACTOR = 2.0**30
"""Multipliers are int32."""


@dataclass(frozen=True)
class Target:
    """The integers that a requantisation gives."""

    dtype: str
    zero: int
    low: int
    high: int
    rounding: Rounding = Rounding.HALF_EVEN

    def requant(self, shift: int) -> Requant:
        return Requant(shift, self.dtype, self.low, self.high, self.zero, self.rounding)


class Source(Protocol):
    """Something that integers can compute up to a factor and a summand."""

    @property
    def largest(self) -> float:
        """The largest magnitude of the total."""
        ...

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        """The tensor round(total * factor + summand), in the integers of `to`. Both have the result's rank."""
        ...


@dataclass(frozen=True)
class Pending:
    """Stands for clamp(total * scale + offset, low, high); scale and offset have the result's rank."""

    source: Source
    scale: Array
    offset: Array
    low: float = -math.inf
    high: float = math.inf

    def times(self, factor: Array) -> Pending:
        if self.is_clamped and factor.size > 1:
            raise NoIntegerForm("channels are scaled after a clamp")
        bounds = sorted((self.low * _first(factor, 1.0), self.high * _first(factor, 1.0)))
        low, high = bounds if self.is_clamped else (self.low, self.high)
        return replace(self, scale=self.scale * factor, offset=self.offset * factor, low=low, high=high)

    def plus(self, summand: Array) -> Pending:
        if self.is_clamped and summand.size > 1:
            raise NoIntegerForm("channels are shifted after a clamp")
        shift = _first(summand, 0.0)
        return replace(self, offset=self.offset + summand, low=self.low + shift, high=self.high + shift)

    def clamped(self, low: float, high: float) -> Pending:
        clipped = [float(np.clip(bound, low, high)) for bound in (self.low, self.high)]
        return replace(self, low=clipped[0], high=clipped[1])

    @property
    def is_clamped(self) -> bool:
        return self.low > -math.inf or self.high < math.inf

    def quantised(self, context: Context, to: Format, output: str | None) -> str:
        """The integer tensor in the format that a QuantizeLinear asks for."""
        if not to.is_per_tensor:
            raise NoIntegerForm("the result is quantised per channel")
        factors = self._in_units_of(to.scale)
        target = Target(to.dtype, to.zero, to.level(self.low), to.level(self.high))
        return self.source.emit(context, *factors, target, output)

    def wide(self, context: Context, unit: float, dtype: str) -> Value:
        """The result as int32, fine enough to be added to others before a rounding to units of an element type."""
        return self.stored(context, unit / 2 ** FRACTION_BITS[BYTES[dtype]], "int32")

    def narrow(self, context: Context, coarsest: float) -> Value:
        """The result as int16, as fine as its largest magnitude allows, but not coarser than a given unit."""
        unit = self.finest_unit(limits("int16")[1])
        if unit > coarsest:
            raise NoIntegerForm("it may be too large for fine 16-bit numbers")
        return self.stored(context, unit, "int16")

    def finest_unit(self, reach: int) -> float:
        """The smallest unit in which the result stays within +-reach.

        It is a power of two times that of the total, so that what was a tie stays one.
        """
        base, largest = float(np.max(np.abs(self.scale))), self.largest
        if not (0 < base < math.inf and 0 < largest < math.inf):
            raise NoIntegerForm("it is always zero, or not finite")
        return base / 2.0 ** math.floor(math.log2(reach * base / largest))

    def stored(
        self, context: Context, unit: float, dtype: str, zero: int = 0, rounding: Rounding = Rounding.HALF_EVEN
    ) -> Value:
        """The result in integers of one's own choice."""
        low, high = limits(dtype)
        least, most = (int(np.clip(np.rint(bound / unit) + zero, low, high)) for bound in (self.low, self.high))
        tensor = self.source.emit(context, *self._in_units_of(unit), Target(dtype, zero, least, most, rounding), None)
        return Value(tensor, context.builder.types[tensor], np.array([unit]), np.array([zero]))

    @property
    def largest(self) -> float:
        """The largest magnitude of the result."""
        free = float(np.max(np.abs(self.scale) * self.source.largest + np.abs(self.offset)))
        return max(abs(float(np.clip(bound, self.low, self.high))) for bound in (-free, free))

    def _in_units_of(self, unit: float) -> tuple[Array, Array]:
        factor, summand = self.scale / unit, self.offset / unit
        if not np.all(np.isfinite(summand)) or not np.all(np.abs(factor) < MAX_FACTOR):
            raise NoIntegerForm("its constants are not finite, or scales differ by too much")
        return factor, summand


def _first(values: Array, default: float) -> float:
    return float(values.reshape(-1)[0]) if values.size == 1 else default


def only(values: Array) -> float:
    """The one value of a factor or summand."""
    if np.unique(values).size != 1:
        raise NoIntegerForm("each channel has its own factor")
    return float(values.reshape(-1)[0])


def vector(values: Array) -> tuple[int, Array]:
    """The one axis along which values vary (-1 for none), and the values along it."""
    axes = [axis for axis, size in enumerate(values.shape) if size > 1]
    if len(axes) > 1:
        raise NoIntegerForm("factors vary along several axes")
    return (axes[0] if axes else -1), values.reshape(-1)

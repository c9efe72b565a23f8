"""Scales of weights whose requantisation hardware does as it stands: the factor of each channel is m / 2**shift.

The factor is the scale of inputs times that of weights by that of results. Inputs and results have theirs before
weights are rounded; those of weights are then moved to the nearest for which m is a whole number, one shift for all
channels. That is a part of a hundred or less, and among the few that are near one is as good as the one before.

A factor is made of float32 numbers and is never quite short, and ONNX rounds ties to even where hardware rounds them
up. Whether a channel's results are the same for all totals is counted; if not, the next m is tried.
"""

from __future__ import annotations

import numpy as np

from tilewright.ir.requant import fixed_point, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.weights import nearest
from tilewright.records import dataclass
from tilewright.requant.lines import MOST_FACTOR, MOST_SHIFT, same_results
from tilewright.requant.spec import RequantSpec

NEAR = tuple(range(-3, 5))
"""Whole numbers around the factor, of which the one with the least error is taken."""
FURTHER = (*range(5, 25), *range(-4, -13, -1), *range(25, 512, 9))
"""Those that are tried one by one where none of the near ones will do: mostly channels that are hardly heard."""
MOST_ERROR = 1.01
"""The squared error of the layer's results may become that much larger by it."""
ROOM = 2 * 256
"""What zero points, halves and roundings of biases add to results before they are clipped."""
MORE = 1 + 1 / 32
"""How much larger totals may become by what biases are corrected by later."""


@dataclass(frozen=True, eq=False)
class Ends:
    """What a layer reads and gives, and its bias."""

    source: Format
    result: Format
    bias: Array | None

    def factors(self, scales: Array) -> Array:
        """Of the requantisation."""
        return np.asarray(self.source.scale * scales.astype(np.float64) / self.result.scale)

    def scales(self, factors: Array) -> Array:
        return np.asarray(factors * (self.result.scale / self.source.scale), np.float32)

    def totals(self, levels: Array, scales: Array) -> tuple[Array, Array]:
        """The smallest and largest of each channel."""
        low, high = (limit - self.source.zero for limit in limits(self.source.dtype))
        products = levels.astype(np.int64) * low, levels.astype(np.int64) * high
        bias = np.zeros(1) if self.bias is None else self.bias / (self.source.scale * scales.astype(np.float64))
        ends = np.minimum(*products).sum(axis=1) + bias, np.maximum(*products).sum(axis=1) + bias
        lowest, highest = np.minimum(ends[0], 0) * MORE, np.maximum(ends[1], 0) * MORE
        return np.floor(lowest).astype(np.int64), np.ceil(highest).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Layer:
    rows: Array
    bits: int
    weight: Array
    """Of each column."""
    ends: Ends

    def errors(self, scales: Array) -> Array:
        """The squared error of each row."""
        wrong = nearest(self.rows, scales, self.bits) * scales[:, None].astype(np.float64) - self.rows
        return np.asarray(wrong**2 @ self.weight)

    def part(self, which: Array) -> _Layer:
        return _Layer(self.rows[which], self.bits, self.weight, self.ends)


def short_scales(rows: Array, scales: Array, bits: int, importance: Array | None, ends: Ends) -> Array:
    """Scales close to the given ones with short factors; as they are where that would cost accuracy."""
    layer = _Layer(rows, bits, np.ones(rows.shape[1]) if importance is None else importance, ends)
    search = _Search.of(layer, scales)
    found = search.near()
    for step in FURTHER:
        missing = np.flatnonzero(found == 0)
        if not missing.size:
            break
        found[missing] = search.part(missing).tried(step)
    made = search.scales(found)
    if np.any(found == 0) or layer.errors(made).sum() > MOST_ERROR * layer.errors(scales).sum():
        return scales
    return made


@dataclass(frozen=True, eq=False)
class _Search:
    layer: _Layer
    middle: Array
    """The factors in units of 2**-shift, rounded down."""
    shift: int
    fine: int
    """The shift of the exact requantisation."""
    low: Array
    high: Array

    @classmethod
    def of(cls, layer: _Layer, scales: Array) -> _Search:
        factors = layer.ends.factors(scales)
        low, high = layer.ends.totals(nearest(layer.rows, scales, layer.bits), scales)
        largest = float((factors * np.maximum(-low, high)).max()) + ROOM
        least = np.log2(MOST_FACTOR / (MORE * float(factors.max())))
        shift = max(1, int(min(MOST_SHIFT, np.floor(least), np.floor(np.log2(2.0**31 / largest)))))
        middle = np.floor(factors * 2.0**shift).astype(np.int64)
        return cls(layer, middle, shift, fixed_point(factors)[1], low, high)

    def part(self, which: Array) -> _Search:
        layer = self.layer.part(which)
        return _Search(layer, self.middle[which], self.shift, self.fine, self.low[which], self.high[which])

    def near(self) -> Array:
        """The best whole number of each channel, 0 where none is lossless."""
        found, best = np.zeros_like(self.middle), np.full(len(self.middle), np.inf)
        for step in NEAR:
            tried = self.tried(step)
            errors = np.where(tried > 0, self.layer.errors(self.scales(tried)), np.inf)
            found, best = np.where(errors < best, tried, found), np.minimum(errors, best)
        return found

    def tried(self, step: int) -> Array:
        """The whole numbers a step away from the factors, 0 where they are not lossless."""
        short = np.clip(self.middle + step, 1, MOST_FACTOR)
        requant = full_range(self.fine, self.layer.ends.result.dtype, self.layer.ends.result.zero, Rounding.HALF_EVEN)
        mul = np.rint(self.layer.ends.factors(self.scales(short)) * 2.0**self.fine).astype(np.int64)
        spec = RequantSpec(requant, mul, None, self.low, self.high)
        return np.where(same_results(spec, short, self.shift), short, 0)

    def scales(self, short: Array) -> Array:
        return self.layer.ends.scales(np.maximum(short, 1) * 2.0**-self.shift)

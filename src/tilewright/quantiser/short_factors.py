"""Scales of weights whose requantisation hardware does as it stands: the factor of each channel is m / 2**shift.

The factor is the scale of inputs times that of weights by that of results. Inputs and results have theirs before weights
are rounded; those of weights are then moved to the nearest for which m is a whole number, one shift for all channels.
That is a part of a hundred or less, and among the few that are near one is as good as the one before.

N-EUREKA and the cores' fastest kernels add one half and shift: a total on a tie goes up, where ONNX rounds to even. With
m = odd * 2**k ties are at odd / 2 and its odd multiples, so that an m with a large odd part has none between the bounds
of a byte, and both roundings are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ir.types import Array, limits
from tilewright.passes.quantise.short_factors import MOST_FACTOR, finest_shift
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.weights import nearest

NEAR = range(-3, 5)
"""Whole numbers around the factor that are tried."""
FURTHER = 512
"""The odd part of a factor that has no ties in a byte is at most that large."""
MOST_ERROR = 1.01
"""The squared error of the layer's results may become that much larger by it."""
ROOM = 2 * 256
"""What zero points, halves and roundings of biases add to results before they are clipped."""
MORE = 1 + 1 / 32
"""How much larger totals may become by what biases are corrected by later."""
ODD = np.arange(-FURTHER - 1, FURTHER + 2, 2)


@dataclass(frozen=True, eq=False)
class Ends:
    """What a layer reads and gives, and its bias."""

    source: Format
    result: Format
    bias: Array | None

    @property
    def per_level(self) -> float:
        """The factor of a scale of weights."""
        return self.source.scale / self.result.scale

    def reach(self, levels: Array, scales: Array) -> Array:
        """How large totals of each channel can be."""
        low, high = limits(self.source.dtype)
        sums = np.abs(levels.astype(np.float64)).sum(axis=1) * max(high - self.source.zero, self.source.zero - low)
        return sums if self.bias is None else sums + np.abs(self.bias) / (self.source.scale * scales)


def short_scales(rows: Array, scales: Array, bits: int, importance: Array | None, ends: Ends) -> Array:
    """Scales close to the given ones with short factors; as they are where that would cost accuracy."""
    weight = np.ones(rows.shape[1]) if importance is None else importance
    factors = scales.astype(np.float64) * ends.per_level
    reach = MORE * ends.reach(nearest(rows, scales, bits), scales)
    shift = _shift(factors, reach)
    unit = 2.0**-shift / ends.per_level
    best, found = np.full(len(rows), np.inf), np.zeros(len(rows), np.int64)
    for step in NEAR:
        tried = np.clip(np.floor(factors * 2.0**shift).astype(np.int64) + step, 1, MOST_FACTOR)
        errors = _errors(rows, tried * unit, bits, weight)
        errors[has_ties(tried, shift, reach, ends.result)] = np.inf
        best, found = np.where(errors < best, errors, best), np.where(errors < best, tried, found)
    found = np.where(found > 0, found, _larger(factors * 2.0**shift, shift, reach, ends.result))
    made = (found * unit).astype(np.float32)
    worse = _errors(rows, made, bits, weight).sum() > MOST_ERROR * _errors(rows, scales, bits, weight).sum()
    return scales if worse or np.any(found > MOST_FACTOR) else made


def _shift(factors: Array, reach: Array) -> int:
    """The finest for which products fit 32 bits."""
    largest = float((factors * reach).max()) + ROOM
    return max(0, min(finest_shift(float(factors.max()) * 1.02), int(np.floor(np.log2(2.0**31 / largest)))))


def _errors(rows: Array, scales: Array, bits: int, weight: Array) -> Array:
    """The squared error of each row."""
    return np.asarray((nearest(rows, scales, bits) * scales[:, None].astype(np.float64) - rows) ** 2 @ weight)


def has_ties(factors: Array, shift: int, reach: Array, result: Format) -> Array:
    """Of each channel, whether some total lies on a tie that goes up by one rounding and down by the other."""
    low, high = (limit - result.zero for limit in limits(result.dtype))
    power = factors & -factors
    odd = (factors // power)[:, None]
    # Totals that are odd multiples of this one are on ties.
    first = 2.0 ** (shift - 1) / power[:, None]
    below = (odd * ODD - 1) // 2
    differs = (below % 2 == 0) & (below >= low) & (below < high)
    return np.asarray(np.any(differs & (np.abs(ODD) * first <= reach[:, None]) & (first >= 1), axis=1))


def _larger(factors: Array, shift: int, reach: Array, result: Format) -> Array:
    """The next larger factors without ties, for channels whose results are so small that they are hardly heard."""
    found = np.ceil(factors).astype(np.int64)
    for _ in range(FURTHER):
        tied = has_ties(found, shift, reach, result)
        if not tied.any():
            break
        found = found + tied
    return found

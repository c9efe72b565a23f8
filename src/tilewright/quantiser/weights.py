"""Weights as integers with a scale per channel, and biases in the unit of the sums."""

from __future__ import annotations

import numpy as np

from tilewright.errors import present
from tilewright.ir.types import Array
from tilewright.records import dataclass

NARROWER = tuple(1 - 0.03 * step for step in range(12))
"""Parts of a channel's range that are tried: without its largest weights the others are finer."""

LARGEST_BIAS = 2.0**29
"""In units of the sums: leaves room for the sums themselves."""

UNHEARD = 0.0002
"""A unit of sums that is so much finer than the step of results can be coarser without anyone hearing it: the errors of
weights then add up to a hundredth of a step. Channels that are nearly zero would otherwise have units so fine that
their biases take all 32 bits, which costs kernels their fastest ways. It is no power of two: results would often be
ties."""

LEAST_SCALE = 1e-12


@dataclass(frozen=True)
class QuantisedWeights:
    """Integers in the shape of the weights; they stand for levels * scales along an axis."""

    levels: Array
    scales: Array
    axis: int | None
    bias: Array | None = None
    """One number per channel, not rounded yet."""

    @property
    def floats(self) -> Array:
        shape = [1] * self.levels.ndim
        if self.axis is not None:
            shape[self.axis] = -1
        return np.asarray(self.levels.astype(np.float32) * self.scales.astype(np.float32).reshape(shape), np.float32)

    def bias_levels(self, x_scale: float) -> Array:
        """The bias as int32, in units of the sums."""
        unit = self.bias_scales(x_scale).astype(np.float64)
        return np.clip(np.rint(self._known_bias / unit), -(2.0**31), 2.0**31 - 1).astype(np.int32)

    def bias_scales(self, x_scale: float) -> Array:
        unit, bias = np.asarray(self.scales.astype(np.float32) * np.float32(x_scale), np.float32), self._known_bias
        return np.tile(unit, bias.size // unit.size) if bias.size != unit.size else unit

    @property
    def _known_bias(self) -> Array:
        return present(self.bias, "quantised weights", "have no bias to be rounded")

    def bias_floats(self, x_scale: float) -> Array | None:
        """What the rounded bias stands for."""
        if self.bias is None:
            return None
        return np.asarray(self.bias_levels(x_scale).astype(np.float32) * self.bias_scales(x_scale), np.float32)


def row_scales(
    rows: Array, bits: int, importance: Array | None = None, bias: Array | None = None, x_scale: float = 1.0,
    y_scale: float = 0.0,
) -> Array:  # fmt: skip
    """The scale of each row with the least squared error, errors weighted by how much each column matters.

    `y_scale` is the step of the results, if that is known: finer than it asks for no row needs to be."""
    top = 2 ** (bits - 1) - 1
    largest = np.abs(rows).max(axis=1).astype(np.float64)
    weight = np.ones(rows.shape[1]) if importance is None else importance
    best, scales = np.full(len(rows), np.inf), largest / top
    for part in NARROWER:
        tried = np.maximum(largest * part / top, LEAST_SCALE)
        wrong = rows / tried[:, None]
        np.clip(np.rint(wrong, out=wrong), -top, top, out=wrong)
        wrong *= tried[:, None]
        wrong -= rows
        errors = np.square(wrong, out=wrong) @ weight
        better = errors < best
        best, scales = np.where(better, errors, best), np.where(better, tried, scales)
    needed = UNHEARD * y_scale / (x_scale * np.sqrt(rows.shape[1]))
    return _usable(np.maximum(scales, needed), largest, bias, x_scale)


def _usable(scales: Array, largest: Array, bias: Array | None, x_scale: float) -> Array:
    """A channel whose weights are all zero has any scale; none is so small that its bias does not fit 32 bits."""
    typical = float(scales[largest > 0].max(initial=0.0)) or 1.0
    scales = np.where(largest > 0, np.maximum(scales, typical * 1e-9), typical)
    if bias is not None:
        of_groups = np.abs(bias).reshape(-1, scales.size) if bias.size > scales.size else np.abs(bias)[None]
        scales = np.maximum(scales, of_groups.max(0) / (x_scale * LARGEST_BIAS))
    return np.minimum(scales, np.finfo(np.float32).max).astype(np.float32)


def nearest(rows: Array, scales: Array, bits: int) -> Array:
    """Each weight on the level next to it."""
    top = 2 ** (bits - 1) - 1
    return np.clip(np.rint(rows / scales[:, None].astype(np.float64)), -top, top).astype(np.int8)

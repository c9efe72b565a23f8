"""Sums of products as N-EUREKA needs to know them: their weights as codes, and what the totals can be."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, limits
from tilewright.records import dataclass
from tilewright.targets.hwpe.requantising import Totals

LEAST_BITS = 2


@dataclass(frozen=True, eq=False)
class Sums:
    """The sum over channels and taps of (x - x_zero) * (w - w_zero), plus bias, then the requantisation."""

    stored: Array
    """Weights [filters, channels, taps]; of depthwise layers [channels, 1, taps]."""
    w_zero: int
    x_dtype: str
    x_zero: int
    bias: Array
    """One for each filter, int64, as the next."""
    requant: Requant | None
    mul: Array | None
    add: Array | None

    @property
    def dtype(self) -> str:
        return "int32" if self.requant is None else self.requant.dtype

    @cached_property
    def least(self) -> int:
        return int(self.stored.min())

    @property
    def codes(self) -> Array:
        return self.stored.astype(np.int64) - self.least

    @property
    def offset(self) -> int:
        """A code plus this is a weight without its zero point."""
        return self.least - self.w_zero

    @property
    def bits(self) -> int:
        return max(LEAST_BITS, int(self.codes.max()).bit_length())

    @cached_property
    def weights(self) -> Array:
        return self.stored.astype(np.int64) - self.w_zero

    def bias_without(self, taps: list[int]) -> Array:
        """What is to be added to products of x as it is, where it is 0 under some taps."""
        seen = np.delete(self.weights, taps, axis=2)
        return self.bias - self.x_zero * seen.sum((1, 2))

    @cached_property
    def totals(self) -> Totals:
        """Of products of x as it is."""
        low, high = limits(self.x_dtype)
        products = self.weights * low, self.weights * high
        ends = np.minimum(*products).sum((1, 2)), np.maximum(*products).sum((1, 2))
        return Totals(*ends, self.bias_without([]))

    def dense(self, groups: int) -> Sums:
        """The same with filters over the channels of all groups: weights of other groups' channels are 0."""
        filters, channels, taps = self.stored.shape
        stored = np.full((filters, groups, channels, taps), self.w_zero, np.int64)
        stored[np.arange(filters), np.arange(filters) // (filters // groups)] = self.stored
        return replace(self, stored=stored.reshape(filters, groups * channels, taps))

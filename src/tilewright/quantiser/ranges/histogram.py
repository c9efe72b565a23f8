"""A histogram that grows with what it is shown: one pass over the samples, and two of them can be added."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tilewright.errors import present
from tilewright.ir.types import Array

BINS = 8192
"""Half of them for each sign: a byte's step over the whole range is 32 of them, of which a quarter is used at worst."""


@dataclass
class Histogram:
    """Counts over [-2**exponent, 2**exponent), which doubles as often as needed: bins stay powers of two wide."""

    exponent: int | None = None
    counts: Array = field(default_factory=lambda: np.zeros(BINS, np.int64))
    low: float = math.inf
    high: float = -math.inf
    zeros: int = 0
    """Exact zeros, which every format stores without an error; they are in no bin."""
    unusable: int = 0
    """Values that are not finite."""

    def add(self, values: Array) -> None:
        flat = values.reshape(-1)
        if not flat.size:
            return
        # What is added makes one of both zeros.
        low, high = float(flat.min()) + 0.0, float(flat.max()) + 0.0
        if not math.isfinite(low) or not math.isfinite(high):
            usable = np.isfinite(flat)
            self.unusable += int(flat.size - usable.sum())
            self.add(flat[usable])
            return
        self.low, self.high = min(self.low, low), max(self.high, high)
        largest = max(-low, high)
        if largest == 0.0:
            self.zeros += flat.size
            return
        self._grow(math.frexp(largest)[1])
        self._count(flat)

    def _count(self, flat: Array) -> None:
        exponent = present(self.exponent, "histogram", "counts before it has a range")
        scale = np.float32(BINS / 2 * 2.0**-exponent)
        at = (flat * scale + np.float32(BINS / 2)).astype(np.int32)
        found = np.bincount(np.clip(at, 0, BINS - 1), minlength=BINS)
        zeros = int(flat.size - np.count_nonzero(flat))
        found[BINS // 2] -= zeros
        self.zeros += zeros
        self.counts += found

    def _grow(self, exponent: int) -> None:
        if self.exponent is None:
            self.exponent = exponent
        while self.exponent < exponent:
            self.counts = _halved(self.counts)
            self.exponent += 1

    def merge(self, other: Histogram) -> None:
        """As if both had been one."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.zeros, self.unusable = self.zeros + other.zeros, self.unusable + other.unusable
        if other.exponent is None:
            return
        self._grow(other.exponent)
        counts = other.counts
        for _ in range(present(self.exponent, "histogram", "has no range") - other.exponent):
            counts = _halved(counts)
        self.counts = self.counts + counts

    @property
    def total(self) -> int:
        return int(self.counts.sum()) + self.zeros

    @property
    def is_constant(self) -> bool:
        return not self.high > self.low

    def used(self) -> tuple[Array, Array]:
        """The centres of bins that hold something, inside the range that was seen, and their counts."""
        if self.exponent is None:
            return np.zeros(1), np.array([max(self.zeros, 1)])
        at = np.flatnonzero(self.counts)
        width = 2.0 ** (self.exponent + 1) / BINS
        return np.clip((at - BINS / 2 + 0.5) * width, self.low, self.high), self.counts[at]


def _halved(counts: Array) -> Array:
    """The counts over twice the range: zero stays between two bins in the middle."""
    quarter = BINS // 4
    pairs = counts.reshape(-1, 2).sum(axis=1)
    return np.pad(pairs, (quarter, quarter))

"""Products of few rows with a constant matrix: each row is read as an image of 3x3 pixels under one window of 3x3.

A word of weights with one tap holds 32 weights, whatever their bits, and takes as long; a word of a window holds one
bit of 252 of them. So with few pixels, and weights of few bits, windows need less memory and less time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from tilewright.errors import InternalError
from tilewright.ir.types import Array, TensorType
from tilewright.records import dataclass
from tilewright.targets.hwpe.encoding import TAPS, WIDE, WORD, window_codes, window_words
from tilewright.targets.hwpe.jobs import DENSE, Job
from tilewright.targets.hwpe.linear import NeurekaLinear
from tilewright.targets.hwpe.sums import LEAST_BITS, Sums


@dataclass(frozen=True)
class RowImage:
    """A row as 3x3 pixels, as one column of three, or as one pixel; it has at least as many elements. Pixels lie inside
    the row, so that nothing else is read: where they have more channels than the row elements, some elements are in two
    of them, and count in the first."""

    length: int
    taps: int = TAPS
    """Pixels: 9, 3 or 1."""

    @property
    def columns(self) -> int:
        return 3 if self.taps == TAPS else 1

    @property
    def rows(self) -> int:
        return self.taps // self.columns

    @property
    def channels(self) -> int:
        """Of each pixel; what is left of the row has to be even, for two steps from row to row and pixel to pixel."""
        least = -(-self.length // self.taps)
        return least + (self.length - least) % 2

    @property
    def row(self) -> int:
        """Elements from row to row of the image; from pixel to pixel it is the channels."""
        return (self.length - self.channels) // 2 - (self.columns - 1) // 2 * self.channels

    @cached_property
    def elements(self) -> Array:
        """[channels, taps]: the element of the row that each is."""
        starts = [r * self.row + s * self.channels for r in range(self.rows) for s in range(self.columns)]
        return np.asarray(np.arange(self.channels)[:, None] + np.array(starts))

    @cached_property
    def counts(self) -> Array:
        """[channels, taps]: whether no earlier pixel has the same element."""
        seen, first = np.unique(self.elements.T.reshape(-1), return_index=True)
        found = np.zeros(self.taps * self.channels, bool)
        found[first] = True
        if len(seen) != self.length:
            raise InternalError("N-EUREKA", f"pixels cover {len(seen)} of the {self.length} elements of a row")
        return found.reshape(self.taps, self.channels).T

    def words(self, bits: int) -> int:
        """Bytes of a filter's weights."""
        return WORD * bits * -(-self.channels // WIDE)


@dataclass(frozen=True)
class RowCodes:
    """Weights of filters as codes whose range has a zero, for elements that count elsewhere."""

    sums: Sums

    @cached_property
    def least(self) -> int:
        return min(self.sums.least, self.sums.w_zero)

    @property
    def offset(self) -> int:
        return self.least - self.sums.w_zero

    @cached_property
    def bits(self) -> int:
        most = max(int(self.sums.stored.max()), self.sums.w_zero)
        return max(LEAST_BITS, (most - self.least).bit_length())

    def of_pixels(self, taps: int, rest: int = 0) -> Array:
        """[filters, channels, taps]: of the row as so many pixels, without the rest of it."""
        image = RowImage(self.sums.stored.shape[1] - rest, taps)
        codes = (self.sums.stored[:, : image.length, 0].astype(np.int64) - self.least)[:, image.elements]
        return np.where(image.counts, codes, -self.offset)

    def words(self) -> Array:
        return window_words(self.of_pixels(TAPS), self.bits)


@dataclass(frozen=True)
class NeurekaRow(NeurekaLinear):
    """Y[..., f] from X[..., c], a row at a time."""

    @property
    def has_whole_codes(self) -> bool:
        return False

    def check(self, types: Mapping[str, TensorType]) -> None:
        filters, image = types["W"].shape[0], RowImage(types["X"].shape[-1])
        self.check_constants((filters, image.words(self.bits)), filters, types)

    def rows_and_weights(self, X: Array, W: Array) -> tuple[Array, Array]:
        image = RowImage(X.shape[-1])
        weights = window_codes(W, image.channels, self.bits) + self.offset
        return X[..., image.elements.reshape(-1)], weights.reshape(len(W), -1)

    def jobs(self, types: Mapping[str, TensorType], resident: bool) -> list[Job]:
        image, filters, result = RowImage(types["X"].shape[-1]), types["W"].shape[0], self.npu_result(types)
        out = filters * result.width // 8
        return [
            Job(
                DENSE, image.channels, filters, 1, 1, types["X"].dtype == "int8", self.weights(resident), result,
                image.channels, image.row, out, out,
            )
        ]  # fmt: skip

    def batch(self, types: Mapping[str, TensorType]) -> int:
        return math.prod(types["X"].shape[:-1])

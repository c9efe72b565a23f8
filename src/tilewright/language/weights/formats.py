"""Formats of blocks that weights are rounded to: how the scales of a block are chosen, and its bytes.

What the bytes stand for is said in `ir/block_formats.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.frontends.checkpoint.gguf_blocks import FORMATS as BLOCKS
from tilewright.ir.block_formats import Block
from tilewright.ir.types import Array
from tilewright.language.weights.steps import Grid, affine, halves, inverse, symmetric
from tilewright.records import dataclass

SCALES = 63
"""The largest of the scales and minima of 6 bits in a Q4_K or a Q5_K."""
REFINEMENTS = 3


@dataclass(frozen=True)
class Fitted:
    """Chosen scales of blocks: what each element's levels stand for, and the numbers that the file keeps of them."""

    grid: Grid
    """[n, elements], or [n, 1] where all are the same."""
    stored: tuple[Array, ...]


@dataclass(frozen=True)
class Format:
    number: int
    """In files."""
    low: int
    high: int
    """Levels that an element may have."""
    fit: Callable[[Array, Array], Fitted]
    """From blocks [n, elements], and how much the error of each element counts [n or 1, elements]."""
    pack: Callable[[Fitted, Array], Array]
    """Bytes [n, bytes] of levels [n, elements]."""

    @property
    def block(self) -> Block:
        return BLOCKS[self.number]

    def rounded(self, x: Array, importance: Array) -> Array:
        """The bytes of blocks, each element at the nearest level."""
        fitted = self.fit(x, importance)
        return self.pack(fitted, fitted.grid.levels(x, self.low, self.high))


# ---- blocks of 32 with one scale ----------------------------------------------------------------------------------


def _around_zero(low: int, high: int) -> Callable[[Array, Array], Fitted]:
    def fit(x: Array, importance: Array) -> Fitted:
        scale = halves(symmetric(x, importance, low, high))
        return Fitted(Grid(scale, np.zeros_like(scale)), (scale,))

    return fit


def _above_minimum(high: int) -> Callable[[Array, Array], Fitted]:
    def fit(x: Array, importance: Array) -> Fitted:
        found = affine(x, importance, high, below_zero=False)
        grid = Grid(halves(found.scale), halves(found.minimum))
        return Fitted(grid, (grid.scale, -grid.minimum))

    return fit


def _plain_bytes(fitted: Fitted, levels: Array) -> Array:
    return _joined(fitted, levels.astype(np.int8).view(np.uint8))


def _nibbles(low: int) -> Callable[[Fitted, Array], Array]:
    def pack(fitted: Fitted, levels: Array) -> Array:
        return _joined(fitted, _paired((levels - low).astype(np.uint8)))

    return pack


def _nibbles_and_bits(low: int) -> Callable[[Fitted, Array], Array]:
    """Of five bits the upper ones are beside each other."""

    def pack(fitted: Fitted, levels: Array) -> Array:
        raised = (levels - low).astype(np.uint8)
        fifth = np.packbits(raised >> 4, axis=1, bitorder="little")
        return _joined(fitted, fifth, _paired(raised & 15))

    return pack


def _joined(fitted: Fitted, *parts: Array) -> Array:
    """Numbers of fp16 in front of a block."""
    front = [one.astype("<f2").view(np.uint8).reshape(len(one), 2) for one in fitted.stored]
    return np.concatenate([*front, *parts], axis=1)


def _paired(levels: Array) -> Array:
    """Two in a byte: one of the first half, one of the second."""
    half = levels.shape[1] // 2
    return np.asarray(levels[:, :half] | levels[:, half:] << 4)


# ---- blocks of 256 with eight scales and minima of 6 bits ----------------------------------------------------------


def _eight_parts(high: int) -> Callable[[Array, Array], Fitted]:
    def fit(x: Array, importance: Array) -> Fitted:
        parts, weights = x.reshape(-1, 32), np.broadcast_to(importance, x.shape).reshape(-1, 32)
        found = affine(parts, weights, high, below_zero=True)
        shape = (len(x), 8)
        scales, minima = np.maximum(found.scale, 0).reshape(shape), found.minimum.reshape(shape)
        outer = [halves(one.max(1, keepdims=True) / SCALES) for one in (scales, minima)]
        inner = [
            np.clip(np.rint(one * inverse(by)), 0, SCALES) for one, by in zip((scales, minima), outer, strict=True)
        ]
        best, error = _Parts(*outer, *inner), None
        tried = best
        for _ in range(REFINEMENTS):
            found_error = tried.error(x, importance, high)
            if error is None:
                error = found_error
            else:
                best, error = best.where(found_error >= error, tried), np.minimum(error, found_error)
            tried = tried.refined(x, importance, high)
        return Fitted(best.grid(), (best.scale, best.minimum, best.scales, best.minima))

    return fit


@dataclass(frozen=True)
class _Parts:
    """Scale and minimum of blocks [n, 1], and their factors in each of the eight parts [n, 8]."""

    scale: Array
    minimum: Array
    scales: Array
    minima: Array

    def grid(self) -> Grid:
        scale, minimum = self.scale * self.scales, self.minimum * self.minima
        return Grid(np.repeat(scale, 32, axis=1), np.repeat(minimum, 32, axis=1))

    def error(self, x: Array, importance: Array, high: int) -> Array:
        grid = self.grid()
        return np.asarray((importance * (grid.values(grid.levels(x, 0, high)) - x) ** 2).sum(1, keepdims=True))

    def where(self, kept: Array, other: _Parts) -> _Parts:
        pairs = zip(
            (self.scale, self.minimum, self.scales, self.minima),
            (other.scale, other.minimum, other.scales, other.minima),
            strict=True,
        )
        return _Parts(*(np.where(kept, mine, theirs) for mine, theirs in pairs))

    def refined(self, x: Array, importance: Array, high: int) -> _Parts:
        """With the best factors for the levels, and then the best scale and minimum for both, by least squares."""
        levels = self.grid().levels(x, 0, high)
        split = [np.broadcast_to(one, x.shape).reshape(len(x), 8, 32) for one in (x, importance, levels)]
        values, weights, q = split
        total, first, second = (np.sum(weights * power, 2) for power in (1, q, q * q))
        plain, product = np.sum(weights * values, 2), np.sum(weights * q * values, 2)
        # One after the other: both are to be whole numbers.
        minima = np.rint((self.scale * self.scales * first - plain) * inverse(total * self.minimum))
        minima = np.clip(minima, 0, SCALES)
        scales = np.rint((product + self.minimum * minima * first) * inverse(second * self.scale))
        scales = np.clip(scales, 0, SCALES)
        sums = [
            np.sum(one, 1, keepdims=True)
            for one in (
                scales**2 * second,
                scales * minima * first,
                minima**2 * total,
                scales * product,
                minima * plain,
            )
        ]
        a, b, c, right, below = sums
        over = inverse(a * c - b * b)
        is_flat = over == 0
        scale = np.where(is_flat, right * inverse(a), (c * right - b * below) * over)
        minimum = np.where(is_flat, 0, (b * right - a * below) * over)
        through_zero = minimum < 0
        scale, minimum = np.where(through_zero, right * inverse(a), scale), np.where(through_zero, 0, minimum)
        return _Parts(halves(scale), halves(minimum), scales, minima)


def _six_bits(scales: Array, minima: Array) -> Array:
    """Eight of each in 12 bytes: the last four of both have their upper two bits beside those of the first."""
    scales, minima = scales.astype(np.uint8), minima.astype(np.uint8)
    upper = [one[:, :4] | one[:, 4:] >> 4 << 6 for one in (scales, minima)]
    return np.concatenate([*upper, scales[:, 4:] & 15 | minima[:, 4:] << 4], axis=1)


def _runs(levels: Array) -> Array:
    """Two in a byte, of neighbouring parts of 32."""
    runs = levels.reshape(len(levels), 4, 2, 32)
    return np.asarray(runs[:, :, 0] | runs[:, :, 1] << 4).reshape(len(levels), -1)


def _pack_q4_k(fitted: Fitted, levels: Array) -> Array:
    return _joined(
        Fitted(fitted.grid, fitted.stored[:2]), _six_bits(*fitted.stored[2:]), _runs(levels.astype(np.uint8))
    )


def _pack_q5_k(fitted: Fitted, levels: Array) -> Array:
    raised = levels.astype(np.uint8)
    fifth = np.packbits((raised >> 4).reshape(-1, 8, 32), axis=1, bitorder="little").reshape(-1, 32)
    front = Fitted(fitted.grid, fitted.stored[:2])
    return _joined(front, _six_bits(*fitted.stored[2:]), fifth, _runs(raised & 15))


# ---- blocks of 256 with sixteen scales of 8 bits --------------------------------------------------------------------


def _fit_q6_k(x: Array, importance: Array) -> Fitted:
    parts, weights = x.reshape(-1, 16), np.broadcast_to(importance, x.shape).reshape(-1, 16)
    scales = symmetric(parts, weights, -32, 31).reshape(len(x), 16)
    first = np.take_along_axis(scales, np.abs(scales).argmax(1)[:, None], 1)
    outer = halves(first / -128)
    inner = np.clip(np.rint(scales * inverse(outer)), -128, 127)
    for _ in range(REFINEMENTS):
        grid = Grid(np.repeat(outer * inner, 16, axis=1), np.zeros_like(outer))
        levels = np.repeat(inner, 16, axis=1) * grid.levels(x, -32, 31)
        outer = halves((importance * levels * x).sum(1, keepdims=True) *
                       inverse((importance * levels * levels).sum(1, keepdims=True)))  # fmt: skip
    return Fitted(Grid(np.repeat(outer * inner, 16, axis=1), np.zeros_like(outer)), (outer, inner))


def _pack_q6_k(fitted: Fitted, levels: Array) -> Array:
    count, raised = len(levels), (levels + 32).astype(np.uint8).reshape(-1, 2, 4, 32)
    low = raised & 15
    nibbles = (low[:, :, :2] | low[:, :, 2:] << 4).reshape(count, 128)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    upper = np.bitwise_or.reduce(raised >> 4 << shifts, axis=2).reshape(count, 64)
    outer, inner = fitted.stored
    scale = outer.astype("<f2").view(np.uint8).reshape(count, 2)
    return np.concatenate([nibbles, upper, inner.astype(np.int8).view(np.uint8), scale], axis=1)


FORMATS = {
    "q4_0": Format(2, -8, 7, _around_zero(-8, 7), _nibbles(-8)),
    "q4_1": Format(3, 0, 15, _above_minimum(15), _nibbles(0)),
    "q5_0": Format(6, -16, 15, _around_zero(-16, 15), _nibbles_and_bits(-16)),
    "q5_1": Format(7, 0, 31, _above_minimum(31), _nibbles_and_bits(0)),
    "q8_0": Format(8, -127, 127, _around_zero(-127, 127), _plain_bytes),
    "q4_k": Format(12, 0, 15, _eight_parts(15), _pack_q4_k),
    "q5_k": Format(13, 0, 31, _eight_parts(31), _pack_q5_k),
    "q6_k": Format(14, -32, 31, _fit_q6_k, _pack_q6_k),
}
"""By the names that commands have for them."""

"""Scales of blocks: searched such that the squared errors of a block's weights, each with its importance, are least."""

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.records import dataclass

STRETCHES = np.linspace(0.65, 1.15, 21, dtype=np.float32)
"""Of the scale with which the largest weight of a block is just a level."""
ROUNDS = 2
"""How often levels and scales are computed from each other, behind the search."""
TINY = np.float32(1e-30)


@dataclass(frozen=True)
class Grid:
    """Scales and minima of blocks [n, 1]: a level q stands for q * scale - minimum."""

    scale: Array
    minimum: Array

    def levels(self, x: Array, low: int, high: int) -> Array:
        """The nearest ones."""
        return np.clip(np.rint((x + self.minimum) * inverse(self.scale)), low, high)

    def values(self, levels: Array) -> Array:
        return np.asarray(levels * self.scale - self.minimum)


def inverse(scale: Array) -> Array:
    """1 / scale; 0 where that is none."""
    is_none = np.abs(scale) < TINY
    return np.where(is_none, 0, 1 / np.where(is_none, 1, scale))


def halves(x: Array) -> Array:
    """As a file keeps them: rounded to fp16, the largest of those where they are larger."""
    most = np.finfo(np.float16).max
    return np.clip(x, -most, most).astype(np.float16).astype(np.float32)


# ---- levels around zero -------------------------------------------------------------------------------------------


def symmetric(x: Array, importance: Array, low: int, high: int) -> Array:
    """Scales [n, 1] of blocks x [n, elements] with levels from low to high; any sign, since -low may be more than high.

    Each candidate gives levels, these the scale that is best for them, and that the error; the least one is taken.
    """
    first = np.take_along_axis(x, np.abs(x).argmax(1)[:, None], 1)
    best, gain = np.zeros_like(first), np.zeros_like(first)
    for end in {low, high}:
        for stretch in STRETCHES:
            levels = np.clip(np.rint(x * inverse(first * (stretch / np.float32(end)))), low, high)
            scale, gained = _best_scale(x, importance, levels)
            is_better = gained > gain
            best, gain = np.where(is_better, scale, best), np.where(is_better, gained, gain)
    for _ in range(ROUNDS):
        levels = np.clip(np.rint(x * inverse(best)), low, high)
        scale, gained = _best_scale(x, importance, levels)
        best, gain = np.where(gained > gain, scale, best), np.maximum(gained, gain)
    return best


def _best_scale(x: Array, importance: Array, levels: Array) -> tuple[Array, Array]:
    """By least squares, and by how much it makes the error less than that of zeros."""
    weighted = importance * levels
    products, squares = (weighted * x).sum(1, keepdims=True), (weighted * levels).sum(1, keepdims=True)
    scale = products * inverse(squares)
    return scale, products * scale


# ---- levels above a minimum ---------------------------------------------------------------------------------------


def affine(x: Array, importance: Array, high: int, below_zero: bool) -> Grid:
    """Scales and minima of blocks with levels from 0; with `below_zero`, no block begins above zero."""
    least, most = x.min(1, keepdims=True), x.max(1, keepdims=True)
    least = np.minimum(least, 0) if below_zero else least
    best = Grid((most - least) / high, -least)
    error = _error(x, importance, best, high)
    for stretch in STRETCHES:
        grid = Grid(best.scale * 0 + (most - least) * (stretch / np.float32(high)), -least)
        for _ in range(ROUNDS):
            grid = _best_grid(x, importance, grid.levels(x, 0, high), below_zero)
            found = _error(x, importance, grid, high)
            is_better = found < error
            best = Grid(np.where(is_better, grid.scale, best.scale), np.where(is_better, grid.minimum, best.minimum))
            error = np.minimum(error, found)
    return best


def _error(x: Array, importance: Array, grid: Grid, high: int) -> Array:
    return np.asarray((importance * (grid.values(grid.levels(x, 0, high)) - x) ** 2).sum(1, keepdims=True))


def _best_grid(x: Array, importance: Array, levels: Array, below_zero: bool) -> Grid:
    """By least squares of both."""
    total, first = importance.sum(1, keepdims=True), (importance * levels).sum(1, keepdims=True)
    second = (importance * levels * levels).sum(1, keepdims=True)
    plain, product = (importance * x).sum(1, keepdims=True), (importance * levels * x).sum(1, keepdims=True)
    over = inverse(total * second - first * first)
    scale, minimum = (total * product - first * plain) * over, (first * product - second * plain) * over
    if not below_zero:
        return Grid(scale, minimum)
    through_zero = minimum < 0
    return Grid(np.where(through_zero, product * inverse(second), scale), np.where(through_zero, 0, minimum))

"""Lines below and above a requantisation: where both give the same result, it is the requantisation's.

A requantisation is a staircase of its total, and so is a line  clip((total * mul + summand) >> shift).  A line is
nowhere above the staircase if it does not reach a level at the last total that does not; it is nowhere below if it
reaches every level at the least total that does. So the thresholds of all levels, at most 255 of a filter, are a proof
for every total that the filter can have. A line that is both is the requantisation itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tilewright.ir.types import Array, limits
from tilewright.passes.numerics.native import (
    INT32,
    MOST_FACTOR,
    MOST_SHIFT,
    Given,
    expected_weights,
    fits,
    has_steps,
    least_totals,
    levels_of,
    line_totals,
    slopes,
)

NEAREST = (0, -1, 1)
"""Factors that are tried, from the nearest on."""
SHIFTS = 3
"""How many are tried for each filter, from the finest on; more where a filter has no lines with these."""
UNREACHED = 1 << 40
"""A summand that no line has."""


@dataclass(frozen=True, eq=False)
class Brackets:
    """Factors and summands of two lines for each filter [2, filters], the lower one first, with one shift for both."""

    mul: Array
    summand: Array
    shift: Array
    differing: Array
    """Totals [2, filters] for which a line gives another result than the requantisation."""
    expected: float
    """The share of results for which the lines differ, where results lie as they do in trained networks."""

    @property
    def exact(self) -> Array | None:
        """For each filter, which of its lines is the requantisation; None where a filter has none."""
        is_same = self.differing == 0
        return np.argmax(is_same, axis=0) if np.all(is_same.any(axis=0)) else None


def brackets(given: Given, offset: Array, shift: int | None = None) -> Brackets | None:
    """The closest lines whose products, and summands with `offset` times the factor, stay within 32 bits; with one
    `shift` for all filters, or with their own."""
    is_clipped_as_lines = (given.requant.low, given.requant.high) == limits(given.requant.dtype)
    if not has_steps(given.requant) or not is_clipped_as_lines or not is_monotone(given) or not len(given.mul):
        return None
    steps, best = least_totals(given), _Pair.none(len(given.mul))
    for number, shifts in enumerate(_shifts(given) if shift is None else [np.full(len(given.mul), shift, np.int64)]):
        if number < SHIFTS or not np.all(np.isfinite(best.weight)):
            best = best.or_better(_pair(given, steps, shifts, offset))
    if not np.all(np.isfinite(best.weight)):
        return None
    weighed = max(1.0, float((expected_weights(given.requant)[None, 1:] * np.diff(steps)).sum()))
    return Brackets(best.mul, best.summand, best.shift, best.differing, float(best.weight.sum()) / weighed)


def is_monotone(given: Given) -> bool:
    """Whether a larger total never has a smaller result: no factor is negative, and no total leaves 32 bits on its way
    to the left."""
    if np.any(given.low > given.high) or not np.all(np.isfinite(slope := slopes(given))) or np.any(slope < 0):
        return False
    if given.add is None or not given.requant.has_exponents:
        return True
    left = np.maximum(given.add, 0)
    return bool(np.all(given.low << left >= INT32[0]) and np.all(given.high << left <= INT32[1]))


def one_line(given: Given, offset: Array) -> tuple[Array, Array, int] | None:
    """A factor and a summand for each filter and a shift for all, where that is the requantisation for all totals."""
    if not is_monotone(given):
        return None
    finest = [int(shifts.min()) for shifts in islice(_shifts(given), SHIFTS)] if len(given.mul) else []
    for shift in dict.fromkeys(finest):
        found = brackets(given, offset, shift)
        if found is not None and (which := found.exact) is not None:
            filters = np.arange(len(which))
            return found.mul[which, filters], found.summand[which, filters], shift
    return None


# ---- search ---------------------------------------------------------------------------------------------------------


def _shifts(given: Given) -> Iterator[Array]:
    """Of each filter, from the finest on for which products may fit 32 bits."""
    slope = np.maximum(slopes(given), 2.0**-MOST_SHIFT)
    reach = np.maximum(1.0, slope * np.maximum(np.abs(given.low), np.abs(given.high)))
    finest = np.minimum(MOST_SHIFT + 1 - np.ceil(np.log2(reach)), np.floor(np.log2(MOST_FACTOR / slope)))
    for less in range(MOST_SHIFT):
        yield np.clip(finest - less, 0, MOST_SHIFT).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Pair:
    mul: Array
    summand: Array
    shift: Array
    differing: Array
    weight: Array
    """Of each filter; infinite where there are no such lines."""

    @classmethod
    def none(cls, filters: int) -> _Pair:
        pairs = np.zeros((2, filters), np.int64)
        return cls(pairs, pairs, np.zeros(filters, np.int64), pairs, np.full(filters, np.inf))

    def or_better(self, other: _Pair) -> _Pair:
        better = other.weight < self.weight
        names = ("mul", "summand", "shift", "differing", "weight")
        return _Pair(*(np.where(better, getattr(other, name), getattr(self, name)) for name in names))


def _pair(given: Given, steps: Array, shift: Array, offset: Array) -> _Pair:
    sides = [_line(given, steps, shift, offset, is_upper) for is_upper in (False, True)]
    mul, summand, differing, weight = (np.stack(each) for each in zip(*sides, strict=True))
    return _Pair(mul, summand, shift, differing, weight.sum(axis=0))


def _line(given: Given, steps: Array, shift: Array, offset: Array, is_upper: bool) -> tuple[Array, Array, Array, Array]:
    """The closest one: factors, summands, totals that differ, and these weighed."""
    weights = expected_weights(given.requant)
    best: tuple[Array, ...] = (*[np.zeros(len(steps), np.int64)] * 3, np.full(len(steps), np.inf))
    for mul in _factors(given, steps, shift):
        summand = _summand(given, steps, mul, shift, is_upper)
        apart = np.abs(line_totals(given, mul, summand, shift) - steps)
        fitting = fits(given, mul, summand, shift) & _is_word(summand + offset * mul)
        weight = np.where(fitting, (apart * weights).sum(axis=1), np.inf)
        found = mul, summand, apart.sum(axis=1), weight
        better = weight < best[3]
        best = tuple(np.where(better, new, old) for new, old in zip(found, best, strict=True))
    mul, summand, differing, weight = best
    return mul, summand, differing, weight


def _factors(given: Given, steps: Array, shift: Array) -> Iterator[Array]:
    """Zero for filters that have one result only."""
    inside = (steps > given.low[:, None]) & (steps <= given.high[:, None])
    nearest = np.rint(slopes(given) * 2.0**shift).astype(np.int64)
    for step in NEAREST:
        yield np.where(inside.any(axis=1), np.clip(nearest + step, 0, MOST_FACTOR), 0)


def _summand(given: Given, steps: Array, mul: Array, shift: Array, is_upper: bool) -> Array:
    """The least with which every level is reached where it should be; or the largest with which none is before."""
    levels = levels_of(given.requant)[None, :] << shift[:, None]
    factor, low, high = mul[:, None], given.low[:, None], given.high[:, None]
    constant = given.results((given.high if is_upper else given.low)[:, None])[:, 0] << shift
    if is_upper:
        found = np.where(steps <= high, levels - factor * steps, -UNREACHED).max(axis=1)
    else:
        found = np.where(steps > low, levels - 1 - factor * (steps - 1), UNREACHED).min(axis=1)
    return np.asarray(np.where(mul == 0, constant, found))


def _is_word(values: Array) -> Array:
    return (values >= INT32[0]) & (values <= INT32[1])

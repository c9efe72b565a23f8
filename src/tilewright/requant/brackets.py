"""Lines below and above a requantisation: where both give the same result, it is the requantisation's.

A requantisation is a staircase of its total, and so is a line  clip((total * mul + summand) >> shift).  A line is
nowhere above the staircase if it does not reach a level at the last total that does not; it is nowhere below if it
reaches every level at the least total that does. So the thresholds of all levels, at most 255 of a filter, are a proof
for every total that the filter can have. A line that is both is the requantisation itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.ir.types import Array, limits
from tilewright.records import dataclass
from tilewright.requant.lines import MOST_SHIFT, are_words, finest_shifts, fits, line_steps, near_factors
from tilewright.requant.spec import RequantSpec

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


def brackets(spec: RequantSpec, offset: Array, shift: int | None = None) -> Brackets | None:
    """The closest lines whose products, and summands with `offset` times the factor, stay within 32 bits; with one
    `shift` for all filters, or with their own."""
    if not _has_lines(spec):
        return None
    best = _Pair.none(len(spec.mul))
    for number, shifts in enumerate(_shifts(spec) if shift is None else [np.full(len(spec.mul), shift, np.int64)]):
        if number < SHIFTS or not np.all(np.isfinite(best.weight)):
            best = best.or_better(_pair(spec, shifts, offset))
    if not np.all(np.isfinite(best.weight)):
        return None
    return Brackets(best.mul, best.summand, best.shift, best.differing, float(best.weight.sum()) / spec.weighed)


def one_line(spec: RequantSpec, offset: Array) -> tuple[Array, Array, int] | None:
    """A factor and a summand for each filter and a shift for all, where that is the requantisation for all totals."""
    if not _has_lines(spec):
        return None
    for shift in dict.fromkeys(int(shifts.min()) for shifts in _shifts(spec)[:SHIFTS]):
        mul, summand, is_found = _exact(spec, np.full(len(spec.mul), shift, np.int64), offset)
        if np.all(is_found):
            return mul, summand, shift
    return None


# ---- search ---------------------------------------------------------------------------------------------------------


def _has_lines(spec: RequantSpec) -> bool:
    """Whether results are clipped as those of lines are, and grow with totals."""
    is_clipped_as_lines = (spec.requant.low, spec.requant.high) == limits(spec.requant.dtype)
    return spec.has_steps and is_clipped_as_lines and spec.is_monotone and len(spec.mul) > 0


def _shifts(spec: RequantSpec) -> list[Array]:
    """Of each filter, from the finest on for which products may fit 32 bits."""
    finest = finest_shifts(spec)
    return [np.clip(finest - less, 0, MOST_SHIFT) for less in range(MOST_SHIFT)]


@dataclass(frozen=True, eq=False)
class _Pair:
    """Lines [2, filters], the lower ones first."""

    mul: Array
    summand: Array
    shift: Array
    differing: Array
    weight: Array
    """Of both lines of a filter; infinite where there are no such lines."""

    @classmethod
    def none(cls, filters: int) -> _Pair:
        pairs = np.zeros((2, filters), np.int64)
        return cls(pairs, pairs, np.zeros(filters, np.int64), pairs, np.full(filters, np.inf))

    def or_better(self, other: _Pair) -> _Pair:
        better = other.weight < self.weight
        names = ("mul", "summand", "shift", "differing", "weight")
        return _Pair(*(np.where(better, getattr(other, name), getattr(self, name)) for name in names))


def _pair(spec: RequantSpec, shift: Array, offset: Array) -> _Pair:
    """The closest lines on both sides: factors, summands, totals that differ, and these weighed."""
    none = np.zeros((2, len(shift)), np.int64)
    best: tuple[Array, ...] = none, none, none, np.full(none.shape, np.inf)
    for mul, summands in _sides(spec, shift):
        found = np.stack([mul, mul]), summands, *_apart(spec, mul, summands, shift, offset)
        better = found[3] < best[3]
        best = tuple(np.where(better, new, old) for new, old in zip(found, best, strict=True))
    mul, summand, differing, weight = best
    return _Pair(mul, summand, shift, differing, weight.sum(axis=0))


def _exact(spec: RequantSpec, shift: Array, offset: Array) -> tuple[Array, Array, Array]:
    """Factors and summands of lines that are nowhere below and nowhere above, and whether a filter has one: the largest
    summand that is never too soon is at least the least one that is never too late."""
    sides = list(_sides(spec, shift))
    mul, summand, is_found = 0 * shift, 0 * shift, np.zeros(len(shift), bool)
    for side in (0, 1):
        for factor, summands in sides:
            taken = ~is_found & (summands[0] >= summands[1]) & _fits(spec, factor, summands[side], shift, offset)
            mul, summand = np.where(taken, factor, mul), np.where(taken, summands[side], summand)
            is_found |= taken
    return mul, summand, is_found


def _sides(spec: RequantSpec, shift: Array) -> Iterator[tuple[Array, Array]]:
    """Factors, and for each the largest summand with which no level is reached before it should be, and the least with
    which every one is then: [2, filters]."""
    ends = spec.results(np.stack([spec.low, spec.high], axis=1)).T << shift
    is_after, is_reached = spec.steps > spec.low[:, None], spec.steps <= spec.high[:, None]
    levels = spec.levels[None, :] << shift[:, None]
    for mul in near_factors(spec, shift):
        asked = levels - mul[:, None] * spec.steps  # A level is reached just at its first total.
        lower = np.where(is_after, asked, UNREACHED).min(axis=1) + mul - 1
        upper = np.where(is_reached, asked, -UNREACHED).max(axis=1)
        yield mul, np.where(mul == 0, ends, np.stack([lower, upper]))


def _apart(spec: RequantSpec, mul: Array, summands: Array, shift: Array, offset: Array) -> tuple[Array, Array]:
    """Totals [2, filters] for which lines give other results, and these weighed: infinite where a line leaves 32
    bits."""
    counts, weights = np.zeros(summands.shape, np.int64), np.full(summands.shape, np.inf)
    for side, summand in enumerate(summands):
        fitting = _fits(spec, mul, summand, shift, offset)
        if fitting.any():
            apart = line_steps(spec, mul, summand, shift)
            np.abs(np.subtract(apart, spec.steps, out=apart), out=apart)
            counts[side] = apart.sum(axis=1)
            weights[side, fitting] = np.multiply(apart, spec.weights, out=apart).sum(axis=1)[fitting]
    return counts, weights


def _fits(spec: RequantSpec, mul: Array, summand: Array, shift: Array, offset: Array) -> Array:
    return fits(spec, mul, summand, shift) & are_words(summand + offset * mul)

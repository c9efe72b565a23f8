"""A requantisation in 32 bits that differs from a given one for as few totals as possible, and for how many.

A requantisation is a staircase: for each result there is a least total that reaches it. Two staircases are compared
step by step, so that every possible total counts without being visited. The native one is

    clip((total * mul + summand) >> shift)

where no total leaves 32 bits; its steps lie on a line, which is laid through those of the given one. A line that is a
little too steep is right at one place and wrong far from it: that place is near the zero point, where most results are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits

INT32 = limits("int32")
MOST_SHIFT = 31
MOST_FACTOR = 2**16 - 1
"""More bits of a factor decide about no result, and take N-EUREKA longer to load."""
SHIFTS = 4
"""How many are tried, from the finest on."""
BYTES8 = ("int8", "uint8")
NEAR_LINE = 3
"""Totals that a step is away from where its line reaches a level, nearly always at most."""
NEAR = 8
"""Results are expected around the zero point: one e-th as often an eighth of all results away."""


@dataclass(frozen=True, eq=False)
class Given:
    """What is to be replaced: totals of each filter from `low` to `high`, and their requantisation."""

    requant: Requant
    mul: Array
    add: Array | None
    low: Array
    high: Array

    def results(self, totals: Array) -> Array:
        """Of totals [filters, n]."""
        add = None if self.add is None else self.add[:, None]
        return self.requant(totals, self.mul[:, None], add).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Native:
    """What replaces it, and for how many of the totals whose result is not saturated it gives another one."""

    requant: Requant
    mul: Array
    add: Array | None
    differing: int
    counted: int
    expected: float
    """The share of results that differ, where they lie as they do in trained networks."""
    bias: Array | None = None
    """What totals have besides, before they are multiplied."""

    @property
    def share(self) -> float:
        return self.differing / self.counted if self.counted else 0.0


def native(given: Given) -> Native | None:
    """The closest one; None where there is none that is never more than one apart."""
    slope = slopes(given)
    if not has_steps(given.requant) or not slope.size or np.any(slope < 0) or not np.all(np.isfinite(slope)):
        return None
    steps = least_totals(given)
    found = (_with_shift(given, steps, slope, shift) for shift in _shifts(given, slope))
    return next(filter(None, found), None)


# ---- staircases -----------------------------------------------------------------------------------------------------


def has_steps(requant: Requant) -> bool:
    """Whether there are any to lay a line through: of bytes, and not of one value, as of a Clip with equal limits."""
    return requant.dtype in BYTES8 and requant.low < requant.high


def levels_of(requant: Requant) -> Array:
    """All results but the lowest."""
    return np.arange(requant.low + 1, requant.high + 1, dtype=np.int64)


def least_totals(given: Given) -> Array:
    """[filters, levels]: the least total whose result is a level or more; one beyond the highest where none is."""
    levels = levels_of(given.requant)
    below, reached = _around(given, levels)
    while np.any(reached - below > 1):
        middle = (below + reached) >> 1
        # Where both ends have met, the middle is the end below, whose result is not asked for.
        enough = given.results(np.maximum(middle, given.low[:, None])) >= levels
        enough &= middle > below
        reached = np.where(enough, middle, reached)
        below = np.where(enough, below, np.maximum(middle, below))
    return reached


def _around(given: Given, levels: Array) -> tuple[Array, Array]:
    """[filters, levels]: a total that does not reach a level and one that does: near where its line does, or else one
    beyond the lowest and the highest."""
    low, high, slope = given.low[:, None], given.high[:, None], slopes(given)[:, None]
    moved = 0.0 if given.add is None or given.requant.has_exponents else given.add[:, None] * 2.0**-given.requant.shift
    with np.errstate(divide="ignore", invalid="ignore"):
        line = np.nan_to_num((levels - 0.5 - given.requant.zero_point - moved) / slope)
    middle = np.clip(line, low - 1, high + 1).astype(np.int64)
    below, reached = np.maximum(middle - NEAR_LINE, low - 1), np.minimum(middle + NEAR_LINE, high + 1)
    is_below = (below < low) | (given.results(np.maximum(below, low)) < levels)
    is_reached = (reached > high) | (given.results(np.minimum(reached, high)) >= levels)
    return np.where(is_below, below, low - 1), np.where(is_reached, reached, high + 1)


def line_totals(given: Given, mul: Array, summand: Array, shift: int | Array) -> Array:
    """The same of clip((total * mul + summand) >> shift), with one shift or one for each filter."""
    needed = (levels_of(given.requant)[None, :] << np.asarray(shift).reshape(-1, 1)) - summand[:, None]
    factor = np.maximum(mul, 1)[:, None]
    found = -(-needed // factor)
    # A factor of zero gives one result whatever the total.
    found = np.where(mul[:, None] > 0, found, np.where(needed <= 0, given.low[:, None], given.high[:, None] + 1))
    return np.asarray(np.clip(found, given.low[:, None], given.high[:, None] + 1))


# ---- lines ----------------------------------------------------------------------------------------------------------


def slopes(given: Given) -> Array:
    """Results per total, of each filter."""
    mul, requant = given.mul, given.requant
    if requant.rounding == Rounding.FLOAT:
        return mul.astype(np.int32).view(np.float32).astype(np.float64)
    if not requant.has_exponents:
        return mul * 2.0**-requant.shift
    return mul * 2.0 ** ((0 if given.add is None else given.add) - 31.0)


def _shifts(given: Given, slope: Array) -> range:
    """From the finest on for which products may fit 32 bits."""
    reach = float(np.max(slope * np.maximum(np.abs(given.low), np.abs(given.high))))
    most = MOST_FACTOR / max(float(slope.max()), 2.0**-MOST_SHIFT)
    finest = min(MOST_SHIFT, MOST_SHIFT + 1 - int(np.ceil(np.log2(max(reach, 1.0)))), int(np.floor(np.log2(most))))
    return range(finest, max(finest - SHIFTS, -1), -1)


def _with_shift(given: Given, steps: Array, slope: Array, shift: int) -> Native | None:
    """The best line of each filter; None where one leaves 32 bits or gives results that are two apart."""
    best = Lines.none(len(steps))
    for mul, summand in candidates(given, steps, slope, shift):
        best = best.or_better(lines(given, steps, mul, summand, shift, fits(given, mul, summand, shift)))
    requant = replace(given.requant, shift=shift, rounding=Rounding.NATIVE)
    add = best.summand - ((1 << shift) >> 1) - (requant.zero_point << shift)
    if not np.all(best.taken):
        return None
    return Native(requant, best.mul, add, *counts(best, steps, requant))


def counts(best: Lines, steps: Array, requant: Requant) -> tuple[int, int, float]:
    """Totals that differ, all that are not saturated, and the share that is expected to differ."""
    counted = int((steps[:, -1] - steps[:, 0]).sum())
    weighed = max(1.0, float((expected_weights(requant)[None, 1:] * np.diff(steps)).sum()))
    return int(best.differing.sum()), counted, float(best.weight.sum()) / weighed


def fits(given: Given, mul: Array, summand: Array, shift: int | Array) -> Array:
    """Whether nothing leaves 32 bits, for each filter; kernels add half and the zero point before they see a total."""
    add = summand - ((1 << shift) >> 1) - (given.requant.zero_point << shift)
    sums = np.stack([summand, given.low * mul + summand, given.high * mul + summand])
    sums = np.concatenate([sums, sums + _room(given.requant, shift), add[None]])
    return np.asarray(np.all((sums >= INT32[0]) & (sums <= INT32[1]), axis=0))


def stays_in_words(given: Given) -> Array:
    """Whether a requantisation stays within 32 bits as it stands, for each filter."""
    requant, add = given.requant, np.int64(0) if given.add is None else given.add
    summand = add + ((1 << requant.shift) >> 1) + (requant.zero_point << requant.shift)
    return fits(given, given.mul, np.broadcast_to(summand, given.mul.shape), requant.shift)


def _room(requant: Requant, shift: int | Array) -> int | Array:
    """What sums are more where results of int8 with the zero -128 are stored as uint8 with the zero 0."""
    return 128 << shift if requant.dtype == "int8" and requant.zero_point == -128 else 0


def expected_weights(requant: Requant) -> Array:
    """How often results are expected at each level."""
    levels = levels_of(requant)
    return np.asarray(np.exp(-np.abs(levels - requant.zero_point) * NEAR / len(levels)))


def candidates(
    given: Given, steps: Array, slope: Array, shift: int, most: int = MOST_FACTOR
) -> Iterator[tuple[Array, Array]]:
    """Factors around the nearest, each with summands for what is expected and for all results alike."""
    inside = (steps > given.low[:, None]) & (steps <= given.high[:, None])
    nearest, changes = np.rint(slope * 2.0**shift).astype(np.int64), inside.any(axis=1)
    constant = (given.results(given.low[:, None])[:, 0] << shift) + ((1 << shift) >> 1)
    for step in (0, -1, 1):
        mul = np.where(changes, np.clip(nearest + step, 0, most), 0)
        # A line reaches a level at a total where it did not at the one before: halfway between is right for both.
        asked = (levels_of(given.requant)[None, :] << shift) - mul[:, None] * steps + (mul[:, None] >> 1)
        order = np.argsort(asked, axis=1)
        for weights in (expected_weights(given.requant), np.ones(len(levels_of(given.requant)))):
            yield mul, np.where(changes, _medians(asked, order, weights[None, :] * inside), constant)


def _medians(values: Array, order: Array, weights: Array) -> Array:
    """Of each row, whose order is known: most steps of a line fall where those of a staircase are if its summand is the
    median of what each of them asks."""
    sums = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    middle = np.argmax(sums >= sums[:, -1:] / 2, axis=1)
    return np.take_along_axis(values, np.take_along_axis(order, middle[:, None], axis=1), axis=1)[:, 0]


@dataclass(frozen=True, eq=False)
class Lines:
    """One for each filter."""

    mul: Array
    summand: Array
    taken: Array
    """Whether it may be taken."""
    differing: Array
    """Totals for which it gives another result."""
    weight: Array
    """The same with totals weighed by how often they are expected."""

    @classmethod
    def none(cls, filters: int) -> Lines:
        zeros = np.zeros(filters, np.int64)
        return cls(zeros, zeros, zeros.astype(bool), zeros, zeros.astype(np.float64))

    def or_better(self, other: Lines) -> Lines:
        better = other.taken & (~self.taken | (other.weight < self.weight))
        names = ("mul", "summand", "taken", "differing", "weight")
        return Lines(*(np.where(better, getattr(other, name), getattr(self, name)) for name in names))


def lines(given: Given, steps: Array, mul: Array, summand: Array, shift: int, allowed: Array) -> Lines:
    """Those that may be taken by `allowed`, if no result is two apart."""
    others = line_totals(given, mul, summand, shift)
    apart = np.abs(others - steps)
    # Results are at most one apart where no step lies beyond the places of its neighbours.
    close = np.all(others[:, :-1] <= steps[:, 1:], axis=1) & np.all(steps[:, :-1] <= others[:, 1:], axis=1)
    return Lines(
        mul, summand, allowed & close, apart.sum(axis=1), (apart * expected_weights(given.requant)).sum(axis=1)
    )

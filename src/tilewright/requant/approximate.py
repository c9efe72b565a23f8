"""A requantisation in 32 bits that differs from the one that is wanted for as few totals as possible, and for how many.

    lossless    clip((total * mul + half) >> shift): factors that are short already; no total has another result
    native      clip((total * mul + summand) >> shift), where no total leaves 32 bits
    saturated   clip(((total + bias) * mul + half) >> 24) + middle, where totals are clipped before they leave them

A line that is a little too steep is right at one place and wrong far from it: that place is near the zero point, where
most results are. `middle` lies between the lowest and the highest result, and `bias` puts the zero point where it
belongs: products that matter take all of 32 bits, however far totals reach, so that factors have several bits more.
That takes an instruction which clips, so that it is for cores; N-EUREKA leaves its totals to them. As an operator it is
shifted by 33 bits and has no summand: cores that do not clip take the high word of a product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.records import dataclass
from tilewright.requant.lines import (
    MOST_FACTOR,
    MOST_SHIFT,
    finest_shifts,
    fits,
    line_steps,
    near_factors,
    same_results,
)
from tilewright.requant.spec import BYTES8, INT32, RequantSpec

SHIFTS = 4
"""How many are tried, from the finest on."""


@dataclass(frozen=True, eq=False)
class ApproxRequant:
    """What replaces a requantisation, and for how many of the totals whose result is not saturated it gives another."""

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


# ---- without any difference -----------------------------------------------------------------------------------------

CLOSE = 2.0**-21
"""How far a factor may be from a short one, relative: what float32 and 30 bits cannot hold of it. With more than that
it is not worth while to count."""


def lossless(spec: RequantSpec) -> ApproxRequant | None:
    """The same requantisation in 32 bits, its factors m / 2**shift with one shift for all; None where there is none."""
    short = _short(spec)
    if short is None or not np.all(same_results(spec, *short)):
        return None
    mul, shift = short
    requant = replace(spec.requant, shift=shift, rounding=Rounding.NATIVE)
    return ApproxRequant(requant, mul, np.zeros_like(mul), 0, 0, 0.0)


def _short(spec: RequantSpec) -> tuple[Array, int] | None:
    """Factors of at most 16 bits that are next to the given ones, and their shift."""
    requant, has_add = spec.requant, spec.add is not None and np.any(spec.add)
    if requant.rounding != Rounding.HALF_EVEN or requant.dtype not in BYTES8 or has_add or not spec.mul.size:
        return None
    spare = max(0, int(spec.mul.max()).bit_length() - MOST_FACTOR.bit_length(), requant.shift - MOST_SHIFT)
    mul = (spec.mul + (1 << spare >> 1)) >> spare
    far = np.abs((mul << spare) - spec.mul) > CLOSE * spec.mul
    if mul.min() <= 0 or mul.max() > MOST_FACTOR or requant.shift <= spare or np.any(far):
        return None
    return _without_zeros(mul, requant.shift - spare)


def _without_zeros(mul: Array, shift: int) -> tuple[Array, int]:
    """The same with the smallest shift: shorter factors, and more room in 32 bits."""
    used = int(np.bitwise_or.reduce(mul)) | 1 << shift - 1
    zeros = (used & -used).bit_length() - 1
    return mul >> zeros, shift - zeros


# ---- within 32 bits -------------------------------------------------------------------------------------------------


def native(spec: RequantSpec) -> ApproxRequant | None:
    """The closest one; None where there is none that is never more than one apart."""
    slope = spec.slopes
    if not spec.has_steps or not slope.size or np.any(slope < 0) or not np.all(np.isfinite(slope)):
        return None
    finest = int(finest_shifts(spec).min())
    found = (_with_shift(spec, shift) for shift in range(finest, max(finest - SHIFTS, -1), -1))
    return next(filter(None, found), None)


def _with_shift(spec: RequantSpec, shift: int) -> ApproxRequant | None:
    """The best line of each filter; None where one leaves 32 bits or gives results that are two apart."""
    best = _Lines.none(len(spec.mul))
    for mul, summand in _candidates(spec, shift, MOST_FACTOR):
        best = best.or_better(_counted(spec, mul, summand, shift, fits(spec, mul, summand, shift)))
    if not np.all(best.taken):
        return None
    requant = replace(spec.requant, shift=shift, rounding=Rounding.NATIVE)
    add = best.summand - ((1 << shift) >> 1) - (requant.zero_point << shift)
    return ApproxRequant(requant, best.mul, add, *best.counts(spec))


# ---- with clipped totals --------------------------------------------------------------------------------------------

CLIPPED_SHIFT = 24
"""What is left of 32 bits is a byte."""
MORE = 9
"""Bits by which factors are larger in the operator."""
FACTORS = 2**6, 2**22 - 1
"""With less, the bias would be large; with more, a total is a good part of a result."""


def saturated(spec: RequantSpec) -> ApproxRequant | None:
    """The closest one; None where there is none that is never more than one apart."""
    slope = spec.slopes
    if not spec.has_steps or not slope.size or not np.all((slope >= 0) & (slope < 1)):
        return None
    low, high = limits(spec.requant.dtype)
    middle = (low + high + 1) // 2
    constant = (1 << (CLIPPED_SHIFT - 1)) + (middle << CLIPPED_SHIFT)
    best = _Lines.none(len(slope))
    for factor, summand in _candidates(spec, CLIPPED_SHIFT, FACTORS[1]):
        mul = np.maximum(factor, FACTORS[0])
        bias = (summand - constant + (mul >> 1)) // mul
        allowed = (spec.low + bias >= INT32[0]) & (spec.high + bias <= INT32[1])
        best = best.or_better(_counted(spec, mul, bias * mul + constant, CLIPPED_SHIFT, allowed))
    if not np.all(best.taken):
        return None
    requant = replace(spec.requant, shift=CLIPPED_SHIFT + MORE, rounding=Rounding.HALF_UP, zero_point=middle)
    bias = (best.summand - constant) // best.mul
    return ApproxRequant(requant, best.mul << MORE, None, *best.counts(spec), bias=bias)


# ---- lines ----------------------------------------------------------------------------------------------------------


def _candidates(spec: RequantSpec, shift: int, most: int) -> Iterator[tuple[Array, Array]]:
    """Factors around the nearest, each with summands for what is expected and for all results alike."""
    changes = spec.is_within.any(axis=1)
    constant = (spec.results(spec.low[:, None])[:, 0] << shift) + ((1 << shift) >> 1)
    for mul in near_factors(spec, shift, most):
        # A line reaches a level at a total where it did not at the one before: halfway between is right for both.
        asked = (spec.levels[None, :] << shift) - mul[:, None] * spec.steps + (mul[:, None] >> 1)
        order = np.argsort(asked, axis=1)
        for weights in (spec.weights, np.ones(len(spec.levels))):
            yield mul, np.where(changes, _medians(asked, order, weights[None, :] * spec.is_within), constant)


def _medians(values: Array, order: Array, weights: Array) -> Array:
    """Of each row, whose order is known: most steps of a line fall where those of a staircase are if its summand is the
    median of what each of them asks."""
    sums = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    middle = np.argmax(sums >= sums[:, -1:] / 2, axis=1)
    return np.take_along_axis(values, np.take_along_axis(order, middle[:, None], axis=1), axis=1)[:, 0]


@dataclass(frozen=True, eq=False)
class _Lines:
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
    def none(cls, filters: int) -> _Lines:
        zeros = np.zeros(filters, np.int64)
        return cls(zeros, zeros, zeros.astype(bool), zeros, zeros.astype(np.float64))

    def or_better(self, other: _Lines) -> _Lines:
        better = other.taken & (~self.taken | (other.weight < self.weight))
        names = ("mul", "summand", "taken", "differing", "weight")
        return _Lines(*(np.where(better, getattr(other, name), getattr(self, name)) for name in names))

    def counts(self, spec: RequantSpec) -> tuple[int, int, float]:
        """Totals that differ, all that are not saturated, and the share that is expected to differ."""
        counted = int((spec.steps[:, -1] - spec.steps[:, 0]).sum())
        return int(self.differing.sum()), counted, float(self.weight.sum()) / spec.weighed


def _counted(spec: RequantSpec, mul: Array, summand: Array, shift: int, allowed: Array) -> _Lines:
    """Those that may be taken by `allowed`, if no result is two apart."""
    others, steps = line_steps(spec, mul, summand, shift), spec.steps
    apart = np.abs(others - steps)
    # Results are at most one apart where no step lies beyond the places of its neighbours.
    close = np.all(others[:, :-1] <= steps[:, 1:], axis=1) & np.all(steps[:, :-1] <= others[:, 1:], axis=1)
    return _Lines(mul, summand, allowed & close, apart.sum(axis=1).astype(np.int64), (apart * spec.weights).sum(axis=1))

"""Rounding is learned from most samples and kept where it helps on the others; where it does not, the nearest stays.

A layer that sees few samples, or samples that are much alike, learns what is true of those alone. How far levels may go
from the nearest is therefore a question to the samples that were held out: the answer may be not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tilewright.ir.types import Array
from tilewright.quantiser.rounding.rounding import damped, errors_of, improved, learned, learned_scales
from tilewright.quantiser.weights import nearest
from tilewright.records import dataclass

DAMPINGS = (0.01, 0.1, 1.0)
"""Of the mean moment: with more of it, what samples say little about stays closer to the nearest level."""

HELD_OUT = 4
"""One sample of so many is not learned from."""

Fit = Callable[[Array], Array]
"""Moves scales to those that hardware takes."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Second moments [groups, columns, columns] of what weights are multiplied with."""

    seen: Array
    held_out: Array


@dataclass(frozen=True, eq=False)
class Rounding:
    """Rows as levels * scales."""

    levels: Array
    scales: Array


def moments_of(products: Iterable[Array]) -> Moments:
    """From the products of each sample's columns with each other; a sample alone is also what it is judged by."""
    seen: Array | float = 0.0
    held_out: Array | None = None
    for number, product in enumerate(products):
        if number % HELD_OUT == HELD_OUT - 1:
            held_out = product if held_out is None else held_out + product
        else:
            seen = seen + product
    return Moments(np.asarray(seen), np.asarray(seen if held_out is None else held_out))


def learned_rounding(rows: Array, scales: Array, bits: int, moments: Moments, fit: Fit) -> Rounding:
    """Of the given scales, which fit, and those that suit learned levels better, those with the least error."""
    problem = _Problem(rows, bits, moments)
    plain = Rounding(nearest(rows, scales, bits), scales)
    tried = {damping: problem.levels(scales, damping) for damping in DAMPINGS}
    damping = min(DAMPINGS, key=lambda one: problem.error(tried[one]))
    if problem.error(plain) <= problem.error(tried[damping]):
        return plain
    moved = problem.levels(fit(problem.scales(scales, damping)), damping)
    return min(moved, tried[damping], key=problem.error)


@dataclass(frozen=True, eq=False)
class _Problem:
    rows: Array
    bits: int
    moments: Moments

    @property
    def parts(self) -> list[tuple[slice, Array]]:
        """The rows of each group, and the moments that they are rounded for."""
        size = len(self.rows) // len(self.moments.seen)
        return [(slice(at * size, (at + 1) * size), one) for at, one in enumerate(self.moments.seen)]

    def levels(self, scales: Array, damping: float) -> Rounding:
        """Learned for scales that stay as they are."""
        made = np.empty(self.rows.shape, np.int8)
        for at, seen in self.parts:
            rows, units, moments = self.rows[at], scales[at], damped(seen, damping)
            made[at] = improved(rows, units, self.bits, moments, learned(rows, units, self.bits, moments))
        return Rounding(made, scales)

    def scales(self, scales: Array, damping: float) -> Array:
        """Those that suit learned levels."""
        found = [
            learned_scales(self.rows[at], scales[at], self.bits, damped(seen, damping))[1] for at, seen in self.parts
        ]
        return np.concatenate(found)

    def error(self, made: Rounding) -> float:
        """Of the results, on samples that nothing was learned from."""
        each = [
            errors_of(self.rows[at], made.levels[at], made.scales[at], held_out).sum()
            for (at, _), held_out in zip(self.parts, self.moments.held_out, strict=True)
        ]
        return float(np.sum(each))

"""What a requantisation has to give: a staircase, as one least total for each result.

Results never shrink as totals grow, so that two requantisations are the same for every total where each result begins
at the same one: at most 255 totals of a filter say all about bytes.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.records import dataclass

INT32 = limits("int32")
BYTES8 = ("int8", "uint8")
NEAR_LINE = 3
"""Totals that a step is away from where its line reaches a level, nearly always at most."""
NEAR = 8
"""Results are expected around the zero point: one e-th as often an eighth of all results away."""


@dataclass(frozen=True, eq=False)
class RequantSpec:
    """Totals of each filter from `low` to `high`, their requantisation with its factors, and summands or exponents."""

    requant: Requant
    mul: Array
    add: Array | None
    low: Array
    high: Array

    @cached_property
    def _content(self) -> tuple[object, ...]:
        arrays = (self.mul, self.add, self.low, self.high)
        return self.requant, *(None if one is None else (one.dtype.str, one.tobytes()) for one in arrays)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RequantSpec) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def results(self, totals: Array) -> Array:
        """Of totals [filters, n]."""
        add = None if self.add is None else self.add[:, None]
        return self.requant(totals, self.mul[:, None], add).astype(np.int64)

    def part(self, which: slice) -> RequantSpec:
        """Some of the filters."""
        add = None if self.add is None else self.add[which]
        return RequantSpec(self.requant, self.mul[which], add, self.low[which], self.high[which])

    @cached_property
    def largest(self) -> Array:
        """What no total of a filter exceeds, whatever its sign."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def has_steps(self) -> bool:
        """Whether there are any to lay a line through: of bytes, and not of one value, as of a Clip with equal
        limits."""
        return self.requant.dtype in BYTES8 and self.requant.low < self.requant.high

    @property
    def is_monotone(self) -> bool:
        """Whether a larger total never has a smaller result: no factor is negative, and no total leaves 32 bits on its
        way to the left."""
        if np.any(self.low > self.high) or not np.all(np.isfinite(self.slopes)) or np.any(self.slopes < 0):
            return False
        if self.add is None or not self.requant.has_exponents:
            return True
        left = np.maximum(self.add, 0)
        return bool(np.all(self.low << left >= INT32[0]) and np.all(self.high << left <= INT32[1]))

    @cached_property
    def slopes(self) -> Array:
        """Results per total, of each filter."""
        mul, requant = self.mul, self.requant
        if requant.rounding == Rounding.FLOAT:
            return mul.astype(np.int32).view(np.float32).astype(np.float64)
        if not requant.has_exponents:
            return mul * 2.0**-requant.shift
        return mul * 2.0 ** ((0 if self.add is None else self.add) - 31.0)

    @cached_property
    def levels(self) -> Array:
        """All results but the lowest."""
        return np.arange(self.requant.low + 1, self.requant.high + 1, dtype=np.int64)

    @cached_property
    def weights(self) -> Array:
        """How often results are expected at each level."""
        return np.asarray(np.exp(-np.abs(self.levels - self.requant.zero_point) * NEAR / len(self.levels)))

    @cached_property
    def weighed(self) -> float:
        """All totals that are not saturated, by these weights."""
        return max(1.0, float((self.weights[None, 1:] * np.diff(self.steps)).sum()))

    @cached_property
    def steps(self) -> Array:
        """[filters, levels]: the least total whose result is a level or more; one beyond the highest where none is."""
        below, reached = self._around
        while np.any(reached - below > 1):
            middle = (below + reached) >> 1
            # Where both ends have met, the middle is the end below, whose result is not asked for.
            enough = self.results(np.maximum(middle, self.low[:, None])) >= self.levels
            enough &= middle > below
            reached = np.where(enough, middle, reached)
            below = np.where(enough, below, np.maximum(middle, below))
        return reached

    @property
    def _around(self) -> tuple[Array, Array]:
        """[filters, levels]: a total that does not reach a level and one that does: near where its line does, or else
        one beyond the lowest and the highest."""
        low, high, requant = self.low[:, None], self.high[:, None], self.requant
        moved = 0.0 if self.add is None or requant.has_exponents else self.add[:, None] * 2.0**-requant.shift
        with np.errstate(divide="ignore", invalid="ignore"):
            line = np.nan_to_num((self.levels - 0.5 - requant.zero_point - moved) / self.slopes[:, None])
        middle = np.clip(line, low - 1, high + 1).astype(np.int64)
        below, reached = np.maximum(middle - NEAR_LINE, low - 1), np.minimum(middle + NEAR_LINE, high + 1)
        is_below = (below < low) | (self.results(np.maximum(below, low)) < self.levels)
        is_reached = (reached > high) | (self.results(np.minimum(reached, high)) >= self.levels)
        return np.where(is_below, below, low - 1), np.where(is_reached, reached, high + 1)

    @cached_property
    def is_within(self) -> Array:
        """[filters, levels]: whether a result begins at one of the totals but the lowest."""
        return (self.steps > self.low[:, None]) & (self.steps <= self.high[:, None])

"""How totals become results: the short ways that kernels of pairs know, and the constants that each of them takes.

twice: TensorFlow Lite's `double`, both roundings in five instructions. high: one rounding behind the upper word of the
product, where ties go up or cannot be. totals: every other, from totals in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, limits
from tilewright.ops._linear import NARROW

WORDS = 6
"""Of a pair of filters: the start of the first, that of both, and a factor with what comes with it of each."""
ROOM = 1 << 29
"""What is added to an upper word is smaller."""
SECOND = 8
"""Bits by which totals of a second filter are too large, where filters are not apart."""
NAMES = ("totals", "twice", "high")
"""As TW_BY_... in C."""


@dataclass(frozen=True)
class Way:
    name: str
    is_apart: bool

    @property
    def number(self) -> int:
        return NAMES.index(self.name)

    @property
    def more(self) -> int:
        """Bits that a second filter is shifted by besides."""
        return 0 if self.is_apart or self.name != "high" else SECOND


TOTALS_WAY = Way("totals", True)


@dataclass(frozen=True, eq=False)
class Filters:
    """What totals begin with and are scaled by, for each filter, and what they may not exceed."""

    start: Array
    mul: Array
    add: Array | None
    largest: Array

    def way(self, requant: Requant | None, is_apart: bool) -> Way:
        return Way(self._name(requant), is_apart)

    def _name(self, requant: Requant | None) -> str:
        if requant is None or requant.dtype not in NARROW or (requant.low, requant.high) != limits(requant.dtype):
            return "totals"
        if requant.rounding == "double" and self._goes_twice(requant):
            return "twice"
        return "high" if self._is_high(requant) else "totals"

    def _goes_twice(self, requant: Requant) -> bool:
        # The sign of a total is taken for that of its product.
        return self.add is not None and self.mul.min() > 0 and _has_room(requant, -self.add, 0)

    def _is_high(self, requant: Requant) -> bool:
        if requant.rounding == "single" and self.add is not None:
            return _has_room(requant, -1 - self.add, SECOND)
        is_plain = not requant.has_exponents and (self.add is None or not self.add.any())
        if not is_plain or not _has_room(requant, np.array([requant.shift - 32]), SECOND):
            return False
        # A tie is an odd multiple of this.
        least_tie = 2.0 ** (requant.shift - 1) / np.maximum(self.mul & -self.mul, 1)
        return requant.rounding == "half_up" or bool((self.largest < least_tie).all())

    def packed(self, requant: Requant | None, way: Way, groups: int) -> Array:
        """[groups * pairs, WORDS]."""
        columns = [_in_pairs(values, groups) for values in (self.start, self.mul, self._extra(requant, way))]
        (start, second), (mul, mul_2), (extra, extra_2) = (values.T for values in columns)
        both = second if way.is_apart else start + (second << SECOND)
        return np.stack([start, both, mul, extra, mul_2, extra_2 + way.more], 1).astype(np.int32)

    def _extra(self, requant: Requant | None, way: Way) -> Array:
        add = np.zeros_like(self.mul) if self.add is None else self.add
        if way.name == "totals" or requant is None:
            return add
        if way.name == "twice":
            return -add
        return -1 - add if requant.rounding == "single" else np.full_like(add, requant.shift - 32)


def unpacked(packed: Array, requant: Requant | None, way: Way, groups: int, filters: int) -> Filters:
    """What was packed: as many filters in each group."""
    start, both, mul, extra, mul_2, extra_2 = packed.astype(np.int64).T
    second = both if way.is_apart else (both - start).astype(np.int32).astype(np.int64) >> SECOND
    pairs = zip((start, mul, extra), (second, mul_2, extra_2 - way.more), strict=True)
    starts, muls, extras = (
        np.stack(pair, 1).reshape(groups, -1)[:, :filters].reshape(-1).astype(np.int32) for pair in pairs
    )
    return Filters(starts, muls, _add(extras, requant, way), np.zeros(0))


def _add(extras: Array, requant: Requant | None, way: Way) -> Array | None:
    if way.name == "totals" or requant is None:
        return extras
    if way.name == "twice":
        return -extras
    return -1 - extras if requant.rounding == "single" else None


def _in_pairs(values: Array, groups: int) -> Array:
    """[groups * pairs, 2]; what is missing is as the last."""
    per_group = values.astype(np.int64).reshape(groups, -1)
    return np.pad(per_group, [(0, 0), (0, per_group.shape[1] % 2)], mode="edge").reshape(-1, 2)


def _has_room(requant: Requant, shifts: Array, more: int) -> bool:
    """Whether half a unit and the zero point, shifted by so much and more, leave room for a product."""
    return bool(((shifts >= 1) & (shifts + more < 30)).all()) and all(
        abs(2 * requant.zero_point + 1) << (int(shift) + more - 1) < ROOM for shift in shifts
    )

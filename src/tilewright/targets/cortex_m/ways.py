"""How totals become results: the short ways that kernels of pairs know, and the constants that each of them takes.

twice: TensorFlow Lite's `double`, both roundings in five instructions. up: the same with ties up both times, in four,
also where it makes no difference, because what is negative becomes the least result. high: one rounding behind the
upper word of the product, where ties go up or cannot be. positive: the same, of 16 bits, where what is negative becomes
zero. low: one rounding behind the lower word, where that holds all of the product. one: one product, one sum and one
shift that is the same for all filters, as `one_product` finds them. totals: every other, from totals in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import UP
from tilewright.ir.types import Array, limits
from tilewright.requant.arithmetic import Arithmetic, least_arithmetic, right_shifts

ROOM = 1 << 29
"""What is added to an upper word is smaller."""
LARGEST_DOUBLED = 1 << 30
"""Totals that are doubled are smaller."""
SECOND = 8
"""Bits by which totals of a second filter are too large, where filters are not apart."""
LEFT = {"up": SECOND - 1, "high": SECOND, "positive": SECOND}
"""By way: bits by which such a total is shifted more at the end. `up` loses one with what it is doubled by."""
NAMES = ("totals", "up", "twice", "high", "low", "one", "positive")
"""As TW_BY_... in C."""
ONE = "one"
DOUBLED = ("up", "twice")
"""Their first rounding is of twice a product's upper word."""
SHORT = frozenset({"int8", "uint8", "int16", "uint16"})
"""Results that instructions clamp to."""
POSITIVE = "int16", 0, 32767
"""What `positive` clamps to."""


@dataclass(frozen=True)
class RequantForm:
    name: str
    is_apart: bool

    @property
    def number(self) -> int:
        return NAMES.index(self.name)


FROM_TOTALS = RequantForm("totals", True)


@dataclass(frozen=True, eq=False)
class Filters:
    """What totals begin with and are scaled by, for each filter, and between what they are."""

    start: Array
    mul: Array
    add: Array | None
    least: Array
    most: Array

    @property
    def largest(self) -> Array:
        """What no total exceeds on the way, whatever its sign."""
        return np.maximum(np.maximum(np.abs(self.least), np.abs(self.most)), np.abs(self.start))

    def way(self, requant: Requant | None) -> str:
        if requant is not None and (requant.dtype, requant.low, requant.high) == POSITIVE:
            return "positive" if self._is_high(requant) else "totals"
        if requant is None or requant.dtype not in SHORT or (requant.low, requant.high) != limits(requant.dtype):
            return "totals"
        least = least_arithmetic(requant, self.mul, self.add, self.largest)
        if least in (Arithmetic.TWICE, Arithmetic.TWICE_UP) and self._goes_twice(requant):
            return "up" if least == Arithmetic.TWICE_UP else "twice"
        return "high" if self._is_high(requant) else "low" if self._is_low(requant) else "totals"

    def _goes_twice(self, requant: Requant) -> bool:
        # The sign of a total is taken for that of its product.
        is_small = bool(self.mul.min() > 0) and bool(self.largest.max() < LARGEST_DOUBLED)
        return self.add is not None and is_small and _has_room(requant, -self.add)

    def _is_high(self, requant: Requant) -> bool:
        is_once = least_arithmetic(requant, self.mul, self.add, self.largest) == Arithmetic.ONCE
        return is_once and _has_room(requant, right_shifts(requant, self.mul, self.add) - 32)

    def _is_low(self, requant: Requant) -> bool:
        if requant.rounding not in UP or requant.shift > 30:
            return False
        return bool((self.largest * np.abs(self.mul) + np.abs(self._low_addend(requant))).max() < 1 << 31)

    def _low_addend(self, requant: Requant) -> Array:
        added = np.zeros_like(self.mul) if self.add is None else self.add
        return added + _half(requant) + (requant.zero_point << requant.shift)

    def scaling(self, requant: Requant | None, way: str) -> tuple[Array, Array, Array]:
        """Factor, shift and what is added before it, as the kernels of a way want them."""
        added = np.zeros_like(self.mul) if self.add is None else self.add
        if way == "totals" or requant is None:
            return self.mul, np.zeros_like(self.mul), added
        if way == "low":
            return self.mul, np.full_like(self.mul, requant.shift), self._low_addend(requant)
        shift = -added if way in DOUBLED else -1 - added if requant.has_exponents else added * 0 + requant.shift - 32
        return self.mul, shift, np.left_shift(2 * requant.zero_point + 1, shift - 1)

    def may_be_second(self, requant: Requant | None, way: str) -> bool:
        """Whether there is room for what is added to totals that are too large."""
        _, shift, addend = self.scaling(requant, way)
        return way not in LEFT or bool(
            (shift + LEFT[way] < 30).all() and (np.abs(_moved(addend, way)) < 2 * ROOM).all()
        )

    def in_pairs(self, requant: Requant | None, way: RequantForm, groups: int) -> Array:
        """[groups * pairs, 8]: starts of the first and of both; factor, shift, addend of each."""
        factor, shift, addend = (in_pairs(values, groups) for values in self.scaling(requant, way.name))
        if way.name in LEFT and not way.is_apart:
            shift[:, 1], addend[:, 1] = shift[:, 1] + LEFT[way.name], _moved(addend[:, 1], way.name)
        return as_words(in_pairs(self.start, groups), way.is_apart, (factor, shift, addend))


def as_words(starts: Array, is_apart: bool, scaling: Sequence[Array]) -> Array:
    """[pairs, 8] of starts and of factors, shifts, addends, which are [pairs, 2]."""
    first, second = starts.T
    both = second if is_apart else first + (second << SECOND)
    return np.stack([first, both, *(each[:, 0] for each in scaling), *(each[:, 1] for each in scaling)], 1).astype(
        np.int32
    )


def from_pairs(packed: Array, requant: Requant | None, way: RequantForm, groups: int, filters: int) -> Filters:
    """As many filters in each group."""
    start, both, *scaling = packed.astype(np.int64).T
    second = both if way.is_apart else (both - start).astype(np.int32).astype(np.int64) >> SECOND
    if way.name in LEFT and not way.is_apart:
        scaling[4] = scaling[4] - LEFT[way.name]
    pairs = zip((start, *scaling[:3]), (second, *scaling[3:]), strict=True)
    rows = [np.stack(pair, 1).reshape(groups, -1)[:, :filters].reshape(-1) for pair in pairs]
    starts, mul, shift, addend = (row.astype(np.int32) for row in rows)
    return Filters(starts, mul, added_from(shift, addend, requant, way.name), starts, starts)


def added_from(shift: Array, addend: Array, requant: Requant | None, way: str) -> Array | None:
    """What a requantisation adds, or its exponents, of what `Filters.scaling` gave."""
    if way in ("totals", ONE) or requant is None:
        return addend
    if way == "low":
        return addend - _half(requant) - (requant.zero_point << requant.shift)
    if way in DOUBLED:
        return -shift
    return -1 - shift if requant.has_exponents else None


def _moved(addend: Array, way: str) -> Array:
    """What is added to totals that are too large; with half a unit where the first of two roundings is left to it."""
    return (addend.astype(np.int64) << LEFT[way]) + (1 << LEFT[way] - 1 if way == "up" else 0)


def _half(requant: Requant) -> int:
    return 1 << requant.shift >> 1


def in_pairs(values: Array, groups: int) -> Array:
    """[groups * pairs, 2]; what is missing is as the last."""
    per_group = values.astype(np.int64).reshape(groups, -1)
    return np.pad(per_group, [(0, 0), (0, per_group.shape[1] % 2)], mode="edge").reshape(-1, 2)


def _has_room(requant: Requant, shifts: Array) -> bool:
    """Whether half a unit and the zero point, shifted by so much, leave room for a product."""
    return bool(((shifts >= 1) & (shifts < 30)).all()) and all(
        abs(2 * requant.zero_point + 1) << (int(shift) - 1) < ROOM for shift in shifts
    )

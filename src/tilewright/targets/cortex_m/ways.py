"""How totals become results: the short ways that kernels of pairs know, and the constants that each of them takes.

twice: TensorFlow Lite's `double`, both roundings in five instructions. up: the same with ties up both times, in four,
also where it makes no difference, because what is negative becomes the least result. high: one rounding behind the
upper word of the product, where ties go up or cannot be. positive: the same, of 16 bits, where what is negative becomes
zero. left: the same, of 16 bits and totals that are shifted left before, where products are not shifted by more than
32 bits. low: one rounding behind the lower word, where that holds all of the product. one: one product, one sum and one
shift that is the same for all filters, as `one_product` finds them. totals: every other, from totals in memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import UP
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.requant.arithmetic import Arithmetic
from tilewright.requant.solver import Form, shortest, whole
from tilewright.requant.spec import RequantSpec

ROOM = 1 << 29
"""What is added to an upper word is smaller."""
LARGEST_DOUBLED = 1 << 30
"""Totals that are doubled are smaller."""
SECOND = 8
"""Bits by which totals of a second filter are too large, where filters are not apart."""
LEFT = {"up": SECOND - 1, "high": SECOND, "positive": SECOND}
"""By way: bits by which such a total is shifted more at the end. `up` loses one with what it is doubled by."""
NAMES = ("totals", "up", "twice", "high", "low", "one", "positive", "left")
"""As TW_BY_... in C."""
ONE = "one"
SHIFTED_LEFT = "left"
LAST_SHIFT = 1
"""Of results whose totals were shifted left: by as much more than what they miss of 32 bits."""
DOUBLED = ("up", "twice")
"""Their first rounding is of twice a product's upper word."""
SHORT = whole("int8", "uint8", "int16", "uint16")
"""Results that instructions clamp to."""
ONCE, TWICE, TWICE_UP = (frozenset({one}) for one in (Arithmetic.ONCE, Arithmetic.TWICE, Arithmetic.TWICE_UP))
WITH_SUMMAND = frozenset({Arithmetic.ONCE, Arithmetic.SUMMED})
POSITIVE = 1, math.inf
LOW = Form("low", WITH_SUMMAND, SHORT, UP, shifts=(0, 30), product=1 << 31)
FORMS = (
    Form("positive", ONCE, {"int16": (0, 32767)}, shifts=(33, 61), left_out=32, addend=ROOM),
    Form(
        "up", TWICE_UP, SHORT, shifts=(32, 60), left_out=31, addend=ROOM, total=LARGEST_DOUBLED,
        factors=POSITIVE,  # the sign of a total is taken for that of its product
    ),
    Form(
        "twice", TWICE, SHORT, shifts=(32, 60), left_out=31, addend=ROOM, total=LARGEST_DOUBLED,
        factors=POSITIVE,
    ),
    Form("high", ONCE, SHORT, shifts=(33, 61), left_out=32, addend=ROOM),
    Form(
        SHIFTED_LEFT, ONCE, whole("int16", "uint16"), shifts=(33 - SECOND, 32), total=1 << 23, result=1 << 22
    ),
    LOW,
)  # fmt: skip
"""The shortest first."""


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

    def spec(self, requant: Requant) -> RequantSpec:
        return RequantSpec(requant, self.mul, self.add, self.least, self.most)

    def way(self, requant: Requant | None) -> str:
        return (None if requant is None else shortest(self.spec(requant), FORMS)) or "totals"

    def scaling(self, requant: Requant | None, way: str) -> tuple[Array, Array, Array]:
        """Factor, shift and what is added before it, as the kernels of a way want them."""
        added = np.zeros_like(self.mul) if self.add is None else self.add
        if way == "totals" or requant is None:
            return self.mul, np.zeros_like(self.mul), added
        if way == "low":
            shifts = np.full_like(self.mul, requant.shift)
            return self.mul, shifts, LOW.summand(self.spec(requant), shifts)
        shift = -added if way in DOUBLED else -1 - added if requant.has_exponents else added * 0 + requant.shift - 32
        if way == SHIFTED_LEFT:
            return self.mul, LAST_SHIFT - shift, added * 0 + 2 * requant.zero_point + 1
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
        if way.name == SHIFTED_LEFT and not way.is_apart:
            # What is 256 times as large is shifted right by what is left of that.
            shift[:, 1] = SECOND + LAST_SHIFT - shift[:, 1]
            addend[:, 1] <<= shift[:, 1] - 1
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
    if way.name == SHIFTED_LEFT and not way.is_apart:
        scaling[4] = SECOND + LAST_SHIFT - scaling[4]
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
    right = LAST_SHIFT - shift if way == SHIFTED_LEFT else shift
    return -1 - right if requant.has_exponents else None


def _moved(addend: Array, way: str) -> Array:
    """What is added to totals that are too large; with half a unit where the first of two roundings is left to it."""
    return (addend.astype(np.int64) << LEFT[way]) + (1 << LEFT[way] - 1 if way == "up" else 0)


def _half(requant: Requant) -> int:
    return 1 << requant.shift >> 1


def in_pairs(values: Array, groups: int) -> Array:
    """[groups * pairs, 2]; what is missing is as the last."""
    per_group = values.astype(np.int64).reshape(groups, -1)
    return np.pad(per_group, [(0, 0), (0, per_group.shape[1] % 2)], mode="edge").reshape(-1, 2)

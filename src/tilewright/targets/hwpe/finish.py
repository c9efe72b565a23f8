"""How the cores make results from totals: in 32 bits or by high words where that is exact, else in 64 bits.

Where ties go to the even neighbour and may occur, results by high words are looked at, and the low words of those that
may be one (TIES).

TensorFlow Lite's roundings are by high words too. With h = floor(total * mul / 2**30), a shift to the right by s bits
and ties away from zero, both roundings of a positive total are one: (h + 1 + 2**s) >> (s + 1); a negative one has 2
less. N-EUREKA multiplies totals by 4, so that h is the high word of a product.

TOP takes bytes from the top of 32-bit products: totals beyond a bound of their filter are clipped to it. It is as far
out as a product can be without leaving 32 bits, and gives the last result.

MULTIPLIED are results of which N-EUREKA has multiplied the totals: cores shift, if it has not, and clip them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tilewright.errors import Refusal, present
from tilewright.ir.op import Params
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import PLAIN as PLAIN_ROUNDINGS
from tilewright.ir.rounding import SCALED as SCALED_ROUNDINGS
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.requant.arithmetic import Arithmetic
from tilewright.requant.solver import ClippedTotals, Clips, Form, Zero, shortest_form, whole
from tilewright.requant.spec import INT32, RequantSpec
from tilewright.target.structs.common import requant_fields

COPY, PLAIN, HIGH, NARROW, EXACT, SCALED, TOP, TIES, MULTIPLIED = range(9)
"""As in neureka_finished.h."""
WORD = 32
IDLE = 0.25
"""Of a result: what is less is rounded to nothing, however often."""
LIFT = 2
"""Bits by which totals are larger for SCALED."""
MOST_LIFT = 7
"""For HIGH: N-EUREKA multiplies by bytes."""
SPARE = 10
"""Bits of high words below a result, of TIES, if they can be had."""
TOP_SHIFT = 24
"""What is left of 32 bits is a byte."""
TOP_HALF = 1 << (TOP_SHIFT - 1)


@dataclass(frozen=True)
class Finish:
    """From a total that has its bias to the result, with a factor and, but for HIGH and TIES, a summand for each
    filter; of TOP, the bound of its totals."""

    mode: int
    requant: Requant
    """The layer's."""
    shift: int = 0
    """Of TOP: by how much factors are too large. Of MULTIPLIED: what N-EUREKA has not shifted."""
    summand: int = 0
    """One summand for all filters: one half and the zero point, of HIGH and TIES."""
    bound: int = INT32[1]
    """How far from 0 totals count, of NARROW: what lies beyond is clipped anyway. Of SCALED, what negative totals have
    less, where they count."""
    lifted: int = 0
    """Bits by which totals are larger, of HIGH and TIES: so that a shift by more than a word is left."""

    def __call__(self, totals: Array, mul: Array | None, add: Array | None) -> Array:
        mul = present(mul, "N-EUREKA", "totals have no factors")
        if self.mode == MULTIPLIED:
            return np.clip(totals >> self.shift, self.requant.low, self.requant.high).astype(self.requant.dtype)
        if self.mode in (EXACT, TIES):
            return replace(self.requant, shift=self.requant.shift + self.lifted)(totals, mul, add)
        wide, factor = totals.astype(np.int64), mul.astype(np.int64)
        if self.mode == SCALED:
            return self._scaled(wide, factor, present(add, "N-EUREKA", "totals have no exponents"))
        if self.mode == TOP:
            return self._from_top(wide, factor, present(add, "N-EUREKA", "totals have no bounds"))
        if self.mode == HIGH:
            value = ((wide * factor >> WORD) + self.summand) >> self.shift
        else:
            add = present(add, "N-EUREKA", "totals have no summands")
            value = (np.clip(wide, -self.bound - 1, self.bound) * factor + add) >> self.shift
        low, high = self.requant.low, self.requant.high
        return (np.clip(value, 0, high - low) + low).astype(self.requant.dtype)

    def _scaled(self, wide: Array, factor: Array, exponent: Array) -> Array:
        """Of totals times 4; `shift` is one half and the zero point, in halves."""
        right = -exponent.astype(np.int64)
        value = (wide * factor >> WORD) - self.bound * (wide < 0) + self.summand + (self.shift << right)
        low, high = self.requant.low, self.requant.high
        return (np.clip(value >> (right + 1), 0, high - low) + low).astype(self.requant.dtype)

    def _from_top(self, wide: Array, factor: Array, bound: Array) -> Array:
        clipped = np.clip(wide, -bound.astype(np.int64) - 1, bound)
        value = (clipped * (factor >> self.shift) + TOP_HALF) >> TOP_SHIFT
        return (value + self.requant.zero_point).astype(self.requant.dtype)

    @property
    def lift(self) -> int:
        """By how many bits N-EUREKA makes totals larger."""
        return LIFT if self.mode == SCALED else self.lifted


BYTES: Clips = {"int8": None, "uint8": None}
SHORT: Clips = {**BYTES, "int16": None, "uint16": None}
ONCE, EVEN = frozenset({Arithmetic.ONCE}), frozenset({Arithmetic.EVEN})
HIGH_WORD = Form(
    HIGH, ONCE, SHORT, PLAIN_ROUNDINGS, (WORD + 1, 2 * WORD - 1), WORD, Zero.FROM_LOW, upper=INT32[1] - 1
)  # fmt: skip
"""The low word of a product plus one half never carries into a result that is shifted by more than a word."""
FORMS = (
    Form(
        SCALED, frozenset({Arithmetic.ONCE, Arithmetic.TWICE, Arithmetic.TWICE_UP}), BYTES,
        SCALED_ROUNDINGS - {Rounding.FLOAT}, (WORD, 62), WORD - LIFT, Zero.FROM_LOW, upper=INT32[1] - 2,
        total=1 << (31 - LIFT), factors=(0, math.inf),
    ),
    Form(
        TOP, ONCE, whole("int8", "uint8"), frozenset({Rounding.HALF_UP}), (TOP_SHIFT, TOP_SHIFT), zero=Zero.LAST,
        clipped_totals=ClippedTotals.EACH, reduced=TOP_SHIFT,
    ),
    HIGH_WORD,
    Form(
        NARROW, ONCE | {Arithmetic.SUMMED}, BYTES, PLAIN_ROUNDINGS, (0, WORD - 1), zero=Zero.FROM_LOW,
        clipped_totals=ClippedTotals.ALIKE,
    ),
    replace(HIGH_WORD, lift=MOST_LIFT),
    replace(HIGH_WORD, name=TIES, computes=EVEN, lift=MOST_LIFT, spare=SPARE),
)  # fmt: skip
"""That cores have, the shortest first."""


def chosen_finish(requant: Requant, mul: Array, add: Array | None, limit: int) -> tuple[Finish, Array | None]:
    """The fastest way that is exact for totals up to `limit`, and its summands."""
    if requant.rounding == Rounding.HALF_AWAY:
        raise Refusal(f"the cores do not round {requant.rounding} behind it")
    spec = _spec(requant, mul, add, limit)
    form = shortest_form(spec, FORMS)
    if form is None:
        return Finish(EXACT, requant), add
    small, lost = form.without_zeros(spec)
    if form.name == SCALED:
        return _scaled_finish(requant), add
    if form.name == TOP:
        return Finish(TOP, requant, lost), form.bounds(small)
    if form.name == NARROW:
        shifts = np.full_like(spec.mul, requant.shift)
        return Finish(NARROW, requant, requant.shift, 0, int(form.bounds(spec)[0])), form.summand(spec, shifts)
    lifted = form.lifted(spec)
    shift = requant.shift + lifted - WORD
    return Finish(form.name, requant, shift, _rounding(requant, shift), lifted=lifted), None


def scaled_finish(requant: Requant, mul: Array, add: Array, limit: int) -> Finish | None:
    """Both roundings of TensorFlow Lite as one, where every filter is shifted to the right."""
    return _scaled_finish(requant) if FORMS[0].takes(_spec(requant, mul, add, limit)) else None


def _scaled_finish(requant: Requant) -> Finish:
    halves = 1 + 2 * (requant.zero_point - requant.low)
    twice = 2 if requant.rounding == Rounding.DOUBLE and requant.zero_point > requant.low else 0
    return Finish(SCALED, requant, halves, int(requant.rounding != Rounding.SINGLE), twice)


def _spec(requant: Requant, mul: Array, add: Array | None, limit: int) -> RequantSpec:
    ends = np.full(len(mul), limit, np.int64)
    return RequantSpec(requant, mul.astype(np.int64), None if add is None else add.astype(np.int64), -ends, ends)


def _rounding(requant: Requant, shift: int) -> int:
    """One half, and the zero point from the lowest result on."""
    return ((1 << shift) >> 1) + ((requant.zero_point - requant.low) << shift)


def without_idle(mul: Array, add: Array, reach: Array) -> tuple[Array, Array]:
    """Multipliers and exponents where filters that always give the zero point, whose totals reach no further than
    `reach`, have others that do the same: no shift is too large for them."""
    share = reach * mul.astype(np.float64) * 2.0 ** (add.astype(np.float64) - 31)
    idle = (mul == 0) | ((share < IDLE) & (add < -1))
    return np.where(idle, 0, mul), np.where(idle, -1, add)


def finish_params(finish: Finish | None, has_totals: bool) -> Params:
    if finish is None:
        no_change = requant_fields(Requant(0, "int8", 0, 0), 0)
        rest: Params = {"shift": 0, "summand": 0, "bound": 0, "low": 0, "top": 0, "requant": no_change}
        return {"mode": PLAIN if has_totals else COPY, **rest}
    requant = finish.requant
    # EXACT, the only one with results of 32 bits, does not look at it.
    top = min(requant.high - requant.low, INT32[1])
    return {
        "mode": finish.mode, "shift": finish.shift, "summand": finish.summand, "bound": finish.bound,
        "low": requant.low, "top": top, "requant": requant_fields(requant, 0),
    }  # fmt: skip

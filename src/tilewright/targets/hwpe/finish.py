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

from dataclasses import dataclass, replace

import numpy as np

from tilewright.errors import Refusal, present
from tilewright.ir.op import Params
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.requant.arithmetic import never_ties
from tilewright.requant.spec import INT32
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
    """The same for all filters: one half and the zero point, of HIGH and TIES."""
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


def chosen_finish(requant: Requant, mul: Array, add: Array | None, limit: int) -> tuple[Finish, Array | None]:
    """The fastest way that is exact for totals up to `limit`, and its summands."""
    if requant.rounding == Rounding.HALF_AWAY:
        raise Refusal(f"the cores do not round {requant.rounding} behind it")
    exact = Finish(EXACT, requant), add
    if requant.dtype == "int32":
        return exact
    is_narrow = requant.dtype in ("int8", "uint8")
    if requant.has_exponents:
        return ((scaled_finish(requant, mul, add, limit) if is_narrow else None) or exact[0]), add
    factor = mul.astype(np.int64)
    if add is None and is_narrow and (top := _top(requant, factor)):
        return top
    if add is None and (found := _high(requant, factor, limit, 0)) and found.mode == HIGH:
        return found, None
    if is_narrow and (narrow := _narrow(requant, factor, add, limit)):
        return narrow
    lifted = _high(requant, factor, limit, MOST_LIFT) if add is None else None
    return (lifted, None) if lifted else exact


def _rounding(requant: Requant, shift: int) -> int:
    """One half, and the zero point from the lowest result on."""
    return ((1 << shift) >> 1) + ((requant.zero_point - requant.low) << shift)


def without_idle(mul: Array, add: Array, reach: Array) -> tuple[Array, Array]:
    """Multipliers and exponents where filters that always give the zero point, whose totals reach no further than
    `reach`, have others that do the same: no shift is too large for them."""
    share = reach * mul.astype(np.float64) * 2.0 ** (add.astype(np.float64) - 31)
    idle = (mul == 0) | ((share < IDLE) & (add < -1))
    return np.where(idle, 0, mul), np.where(idle, -1, add)


def scaled_finish(requant: Requant, mul: Array, add: Array | None, limit: int) -> Finish | None:
    """Both roundings of TensorFlow Lite as one, where every filter is shifted to the right."""
    if requant.rounding == Rounding.FLOAT or add is None or limit >= 1 << (31 - LIFT) or mul.min() < 0:
        return None
    halves = 1 + 2 * (requant.zero_point - requant.low)
    if add.max() > -1 or (abs(halves) << -int(add.min())) + 2 * limit + 3 > INT32[1]:
        return None
    twice = 2 if requant.rounding == Rounding.DOUBLE and requant.zero_point > requant.low else 0
    return Finish(SCALED, requant, halves, int(requant.rounding != Rounding.SINGLE), twice)


def _high(requant: Requant, factor: Array, limit: int, most_lift: int) -> Finish | None:
    """The low word of a product plus one half never carries into a result that is shifted by more than a word. Where it
    may be a tie, it is larger by as much as it can be: fewer results look like one."""
    ties = requant.rounding == Rounding.HALF_EVEN and not never_ties(factor, np.full(len(factor), limit), requant.shift)
    room = min(most_lift, INT32[1].bit_length() - limit.bit_length())
    lifted = max(0, WORD + 1 - requant.shift, min(room, WORD + SPARE - requant.shift) if ties else 0)
    shift = requant.shift + lifted - WORD
    if lifted > most_lift or shift >= WORD or limit << lifted > INT32[1]:
        return None
    summand = _rounding(requant, shift)
    if abs(summand) + ((limit << lifted) * int(np.abs(factor).max()) >> WORD) + 1 > INT32[1]:
        return None
    return Finish(TIES if ties else HIGH, requant, shift, summand, lifted=lifted)


def _top(requant: Requant, factor: Array) -> tuple[Finish, Array] | None:
    """With the bounds of totals, where the results of products of 32 bits are all bytes."""
    low, high = limits(requant.dtype)
    more = requant.shift - TOP_SHIFT
    is_whole = (requant.low, requant.high, requant.zero_point) == (low, high, (low + high + 1) // 2)
    if requant.rounding != Rounding.HALF_UP or not is_whole or more < 0:
        return None
    if np.any(factor <= 0) or np.any(factor % (1 << more)):
        return None
    mul = factor >> more
    bound = (INT32[1] - TOP_HALF) // mul
    ends = bound * mul, (-bound - 1) * mul
    results = [(end + TOP_HALF) >> TOP_SHIFT for end in ends]
    if ends[1].min() < INT32[0] or np.any(results[0] != high - requant.zero_point):
        return None
    return None if np.any(results[1] != low - requant.zero_point) else (Finish(TOP, requant, more), bound)


def _narrow(requant: Requant, factor: Array, add: Array | None, limit: int) -> tuple[Finish, Array] | None:
    if requant.shift >= WORD or (requant.rounding == Rounding.HALF_EVEN and requant.shift):
        return None
    summand = _rounding(requant, requant.shift) + (np.zeros(len(factor), np.int64) if add is None else add)
    room = INT32[1] - int(np.abs(summand).max())
    bound = min(room // max(1, int(np.abs(factor).max())) - 1, INT32[1])
    if bound < 1 or (bound < limit and not _saturates(requant, factor, summand, bound)):
        return None
    return Finish(NARROW, requant, requant.shift, 0, bound), summand


def _saturates(requant: Requant, factor: Array, summand: Array, bound: int) -> bool:
    """Whether all totals from the bound on give the largest or the smallest result."""
    top = requant.high - requant.low
    largest, smallest = (bound * factor + summand) >> requant.shift, ((-bound - 1) * factor + summand) >> requant.shift
    return bool((factor > 0).all() and (largest >= top).all() and (smallest <= 0).all())


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

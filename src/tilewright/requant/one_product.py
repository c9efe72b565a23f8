"""Requantisation as one product, one sum and one shift: (((total << left) + offset) * factor >> 32) + addend >> shift.

Whatever a layer rounds by, its results grow with its totals, so that 255 totals say all about them: those at which the
result becomes one more. Factors are rounded to what an instruction takes, and the offset makes up for it: so that
results begin at the same totals as the graph's, to the last one. Where no offset does, there is no such form.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.requant.spec import BYTES8, RequantSpec

FACTOR_BITS = 31
UPPER = 32
"""Bits of the product that are left out."""
ROOM = 1 << 30
"""What is added is smaller, and so is the product."""
LARGEST_OFFSET = 1 << 24
STEPS = 3
"""By so much at most a factor is another one than the graph's, rounded."""
MORE_LEFT = (0, 2, 4, 6)
"""Totals are shifted left by more where that helps: an offset is finer then, the factor coarser."""
MOST_BITS = 53
"""Behind the point of a product: results that are moved there have 64 bits."""


@dataclass(frozen=True, eq=False)
class OneProduct:
    """For each filter."""

    left: Array
    offset: Array
    factor: Array
    addend: Array
    shift: Array

    def __call__(self, totals: Array) -> Array:
        """Totals have filters first; results are not clamped."""
        left, offset = _like(totals, self.left), _like(totals, self.offset)
        return self.of_larger((totals.astype(np.int64) << left) + offset)

    def of_larger(self, totals: Array) -> Array:
        """Of totals that are shifted already, with their offset."""
        factor, addend, shift = (_like(totals, each) for each in (self.factor, self.addend, self.shift))
        return ((totals.astype(np.int64) * factor >> UPPER) + addend) >> shift

    def rounded_twice(self, totals: Array) -> Array:
        """The same, where TensorFlow Lite rounds the product, and ties away from zero after it."""
        factor, addend, shift = (_like(totals, each) for each in (self.factor, self.addend, self.shift))
        high = (totals.astype(np.int64) * factor + (1 << (UPPER - 1))) >> UPPER
        return (high - (totals < 0) + addend) >> shift


@lru_cache(maxsize=512)
def one_product(
    given: RequantSpec, shift: int | None, left: int | None = None, left_at_most: tuple[int, ...] | int = UPPER,
    has_offset: bool = True,
) -> OneProduct | None:  # fmt: skip
    """With totals shifted by this at the end, and left by so much; or by what suits each filter. None where results
    would be others. Answers are kept: layers are mapped again and again until they fit."""
    spec = replace(given)  # what it works out on the way is not kept
    requant = spec.requant
    if not requant.clips_to_type or requant.dtype not in BYTES8:
        return None
    if requant.rounding == Rounding.FLOAT or spec.mul.min() <= 0:
        return None
    bits = _point(spec)
    if bits.max() > MOST_BITS or bits.min() < 1 or _has_bend(spec.requant):
        return None
    first = _first_totals(spec)
    if first is None:
        return None
    length = np.frexp(spec.mul.astype(np.float64))[1]
    shifts = _own_shift(bits, length) if shift is None else np.full_like(bits, shift)
    least = np.maximum(shifts + UPPER - bits + length - FACTOR_BITS, 0)
    tried = [least + more for more in MORE_LEFT] if left is None else [np.full_like(bits, left)]
    found, is_done = None, np.zeros(len(bits), bool)
    for lefts in tried:
        form = _form(spec, lefts, shifts)
        fits = _fits(form, spec) & (lefts <= left_at_most)
        for step in sorted(range(-STEPS, STEPS + 1), key=abs):
            one, works = _with_offset(spec, first, replace(form, factor=form.factor + step), has_offset)
            found = one if found is None else _chosen(is_done | ~(works & fits), found, one)
            is_done |= works & fits
            if is_done.all():
                return _read_only(found)
    return None


def _read_only(found: OneProduct) -> OneProduct:
    """All who ask for it share its arrays."""
    for array in vars(found).values():
        array.setflags(write=False)
    return found


def _has_bend(requant: Requant) -> bool:
    """Whether ties go down below zero and up above it, where both are results."""
    return requant.rounding == Rounding.DOUBLE and requant.low < requant.zero_point


def _form(spec: RequantSpec, left: Array, shift: Array) -> OneProduct:
    """Without an offset."""
    bits = _point(spec)
    factor = _scaled(spec.mul, shift + UPPER - left - bits)
    return OneProduct(left, 0 * left, factor, _scaled(_added(spec), shift - bits), shift)


def _fits(form: OneProduct, spec: RequantSpec) -> Array:
    """Whether nothing on the way has more than 32 bits, whatever the offset and the step of the factor."""
    product = (form.factor > STEPS) & (form.factor < (1 << FACTOR_BITS) - STEPS) & (np.abs(form.addend) < ROOM)
    total = spec.largest << np.minimum(form.left, FACTOR_BITS)
    return product & (total < (1 << FACTOR_BITS) - LARGEST_OFFSET)


def _with_offset(spec: RequantSpec, first: Array, form: OneProduct, has_offset: bool) -> tuple[OneProduct, Array]:
    """With the smallest one that does, and whether it does."""
    at_least, at_most = _offsets(spec, first, form)
    offset = np.clip(0, at_least, at_most) if has_offset else 0 * at_least
    works = (at_least <= offset) & (offset <= at_most) & (np.abs(offset) < LARGEST_OFFSET)
    return replace(form, offset=offset), works


def _chosen(first: Array, one: OneProduct, other: OneProduct) -> OneProduct:
    """The first one where that is said, else the other."""
    return OneProduct(*(np.where(first, *pair) for pair in zip(vars(one).values(), vars(other).values(), strict=True)))


def _point(spec: RequantSpec) -> Array:
    """How many bits of a product are behind the point."""
    if spec.requant.has_exponents:
        return FACTOR_BITS - _add(spec)
    return np.full(len(spec.mul), spec.requant.shift, np.int64)


def _added(spec: RequantSpec) -> Array:
    """To a product, for its whole part to be the result, but where it is a tie."""
    requant = spec.requant
    rounded_before = 1 << (FACTOR_BITS - 1) if requant.rounding in (Rounding.DOUBLE, Rounding.DOUBLE_UP) else 0
    own = rounded_before if requant.has_exponents else _add(spec)
    return own + ((2 * requant.zero_point + 1) << (_point(spec) - 1))


def _add(spec: RequantSpec) -> Array:
    return np.zeros(len(spec.mul), np.int64) if spec.add is None else spec.add.astype(np.int64)


def _scaled(values: Array, bits: Array) -> Array:
    """Times a power of two, rounded."""
    return np.rint(np.ldexp(values.astype(np.float64), bits.astype(np.int32))).astype(np.int64)


OWN_LEFT, OWN_SHIFTS = 4, (1, 20)


def _own_shift(bits: Array, length: Array) -> Array:
    """Where totals are shifted left a little, so that an offset is less than one of them."""
    return np.clip(OWN_LEFT - UPPER + bits - length + FACTOR_BITS, *OWN_SHIFTS)


def _first_totals(spec: RequantSpec) -> Array | None:
    """[filters, results]: the least total that becomes each result, or a larger one."""
    left = np.maximum(_add(spec), 0) if spec.requant.has_exponents else np.zeros(1, np.int64)
    if ((spec.largest << np.minimum(left, UPPER)) >> FACTOR_BITS).any():
        return None  # Totals leave 32 bits, so that results do not grow with them.
    return spec.steps


def _offsets(spec: RequantSpec, first: Array, found: OneProduct) -> tuple[Array, Array]:
    """Between what results begin at their first totals."""
    factor, addend, shift = (each[:, None] for each in (found.factor, found.addend, found.shift))
    begins = -(-(((spec.levels << shift) - addend) << UPPER) // factor)
    least, most, bits = spec.low[:, None], spec.high[:, None], found.left[:, None]
    at_least = np.where(first > most, -ROOM, begins - (first << bits)).max(1)
    at_most = np.where(first <= least, ROOM, begins - ((first - 1) << bits) - 1).min(1)
    return at_least, at_most


def _like(totals: Array, each: Array) -> Array:
    return each.reshape(-1, *(1,) * (totals.ndim - 1))

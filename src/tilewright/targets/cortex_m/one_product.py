"""Requantisation as one product, one sum and one shift: (((total << left) + offset) * factor >> 32) + addend >> shift.

Whatever a layer rounds by, its results grow with its totals, so that 255 totals say all about them: those at which the
result becomes one more. Factors are rounded to what an instruction takes, and the offset makes up for it: so that
results begin at the same totals as the graph's, to the last one. Where no offset does, there is no such form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, limits
from tilewright.targets.cortex_m.ways import Filters

FACTOR_BITS = 31
UPPER = 32
"""Bits of the product that are left out."""
ROOM = 1 << 30
"""What is added is smaller, and so is the product."""
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

    def of_larger(self, totals: Array) -> Array:
        """Totals that are shifted, with their offset, filters first; results are not clamped."""
        factor, addend, shift = (_like(totals, each) for each in (self.factor, self.addend, self.shift))
        return ((totals.astype(np.int64) * factor >> UPPER) + addend) >> shift


def one_product(requant: Requant, filters: Filters, left_at_most: Array, shift: int | None) -> OneProduct | None:
    """With totals shifted left by so much at most, and by this at the end, or by what suits each filter; None where
    results would be others."""
    if (requant.low, requant.high) != limits(requant.dtype) or requant.rounding == "float" or filters.mul.min() <= 0:
        return None
    bits, added = _point(requant, filters), _added(requant, filters)
    if bits.max() > MOST_BITS or bits.min() < 1:
        return None
    length = np.frexp(filters.mul.astype(np.float64))[1]
    shifts = _own_shift(bits, length) if shift is None else np.full_like(bits, shift)
    left = np.maximum(shifts + UPPER - bits + length - FACTOR_BITS, 0)
    factor, addend = _scaled(filters.mul, shifts + UPPER - left - bits), _scaled(added, shifts - bits)
    fits = (left <= left_at_most) & (factor > 0) & (factor < 1 << FACTOR_BITS) & (np.abs(addend) < ROOM)
    if not (fits & (filters.largest << np.minimum(left, FACTOR_BITS) < ROOM)).all():
        return None
    first = _first_totals(requant, filters, bits, added)
    offset = None if first is None else _offset(requant, filters, first, left, (factor, addend, shifts))
    return None if offset is None else OneProduct(left, offset, factor, addend, shifts)


def _point(requant: Requant, filters: Filters) -> Array:
    """How many bits of a product are behind the point."""
    if requant.has_exponents:
        return FACTOR_BITS - _add(filters)
    return np.full(len(filters.mul), requant.shift, np.int64)


def _added(requant: Requant, filters: Filters) -> Array:
    """To a product, for its whole part to be the result, but where it is a tie."""
    rounded_before = 1 << (FACTOR_BITS - 1) if requant.rounding in ("double", "double_up") else 0
    own = rounded_before if requant.has_exponents else _add(filters)
    return own + ((2 * requant.zero_point + 1) << (_point(requant, filters) - 1))


def _add(filters: Filters) -> Array:
    return np.zeros(len(filters.mul), np.int64) if filters.add is None else filters.add.astype(np.int64)


def _scaled(values: Array, bits: Array) -> Array:
    """Times a power of two, rounded."""
    return np.rint(np.ldexp(values.astype(np.float64), bits.astype(np.int32))).astype(np.int64)


OWN_LEFT, OWN_SHIFTS = 4, (1, 20)


def _own_shift(bits: Array, length: Array) -> Array:
    """Where totals are shifted left a little, so that an offset is less than one of them."""
    return np.clip(OWN_LEFT - UPPER + bits - length + FACTOR_BITS, *OWN_SHIFTS)


def _results(requant: Requant) -> Array:
    """All but the least."""
    return np.arange(requant.low + 1, requant.high + 1, dtype=np.int64)


def _first_totals(requant: Requant, filters: Filters, bits: Array, added: Array) -> Array | None:
    """[filters, results]: the least total that becomes each result, or a larger one."""
    results, mul = _results(requant), filters.mul[:, None].astype(np.int64)
    add = None if filters.add is None else filters.add[:, None]
    least, most = filters.least[:, None], filters.most[:, None]
    first = -(-((results << bits[:, None]) - added[:, None]) // mul)
    # A tie may go the other way.
    for step in (-1, 1):
        inside = np.clip(first, least + 1, most)
        before, there = (requant(totals, mul, add).astype(np.int64) >= results for totals in (inside - 1, inside))
        first = first + step * ((before if step < 0 else ~there) & (inside == first))
    inside = np.clip(first, least, most + 1)
    reached = (inside > most) | (requant(np.minimum(inside, most), mul, add).astype(np.int64) >= results)
    not_before = (inside == least) | (requant(np.maximum(inside - 1, least), mul, add).astype(np.int64) < results)
    return inside if bool((reached & not_before).all()) else None


def _offset(
    requant: Requant, filters: Filters, first: Array, left: Array, scaling: tuple[Array, Array, Array]
) -> Array | None:
    """The smallest with which results begin at their first totals; None if there is none."""
    factor, addend, shift = (each[:, None] for each in scaling)
    begins = -(-(((_results(requant) << shift) - addend) << UPPER) // factor)
    least, most, bits = filters.least[:, None], filters.most[:, None], left[:, None]
    at_least = np.where(first > most, -ROOM, begins - (first << bits)).max(1)
    at_most = np.where(first <= least, ROOM, begins - ((first - 1) << bits) - 1).min(1)
    offset = np.clip(0, at_least, at_most)
    return offset if bool(((at_least <= at_most) & (np.abs(offset) < ROOM)).all()) else None


def _like(totals: Array, each: Array) -> Array:
    return each.reshape(-1, *(1,) * (totals.ndim - 1))

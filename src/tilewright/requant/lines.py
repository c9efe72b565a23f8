"""Lines, clip((total * mul + summand) >> shift) for each filter: which totals reach results, and what 32 bits hold."""

from __future__ import annotations

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.types import Array
from tilewright.requant.spec import INT32, RequantSpec

MOST_SHIFT = 31
MOST_FACTOR = 2**16 - 1
"""More bits of a factor decide about no result, and take N-EUREKA longer to load."""
NEAREST = (0, -1, 1)
"""Factors that are tried, from the nearest on."""
EXACT = 2.0**52
"""Doubles tell quotients apart whose product with the divisor is smaller."""


def finest_shifts(spec: RequantSpec) -> Array:
    """Of each filter: the largest shift for which products may fit 32 bits, and factors MOST_FACTOR."""
    slope = np.maximum(spec.slopes, 2.0**-MOST_SHIFT)
    reach = np.maximum(1.0, slope * spec.largest)
    finest = np.minimum(MOST_SHIFT + 1 - np.ceil(np.log2(reach)), np.floor(np.log2(MOST_FACTOR / slope)))
    return np.minimum(finest, MOST_SHIFT).astype(np.int64)


def near_factors(spec: RequantSpec, shift: int | Array, most: int = MOST_FACTOR) -> list[Array]:
    """Those next to the slopes, the nearest first; zero for filters that have one result only."""
    nearest, changes = np.rint(spec.slopes * 2.0**shift).astype(np.int64), spec.is_within.any(axis=1)
    return [np.where(changes, np.clip(nearest + step, 0, most), 0) for step in NEAREST]


def line_steps(spec: RequantSpec, mul: Array, summand: Array, shift: int | Array) -> Array:
    """What `spec.steps` would be for lines, with one shift or one for each filter; whole numbers, as doubles."""
    low, beyond, still = spec.low[:, None], spec.high[:, None] + 1, mul == 0
    found = _totals_for(spec, np.maximum(mul, 1), summand, np.asarray(shift))
    np.minimum(np.maximum(found, low, out=found), beyond, out=found)
    if still.any():  # A factor of zero gives one result whatever the total.
        constant = (summand >> shift)[still, None]
        found[still] = np.where(spec.levels <= constant, low[still], beyond[still])
    return found


def _totals_for(spec: RequantSpec, factor: Array, summand: Array, shift: Array) -> Array:
    """The least for each level, rounded up; by doubles, which take a fraction of the time, where these are exact."""
    reach = int(spec.largest.max()) + 1
    if reach * int(factor.max()) < EXACT:
        found = np.ldexp(1.0, shift).reshape(-1, 1) * spec.levels
        found = found - summand[:, None]
        found /= factor[:, None]
        return np.ceil(found, out=found)
    return np.asarray(-((summand[:, None] - (spec.levels << shift.reshape(-1, 1))) // factor[:, None]), np.float64)


def fits(spec: RequantSpec, mul: Array, summand: Array, shift: int | Array) -> Array:
    """Whether nothing leaves 32 bits, for each filter; kernels add half and the zero point before they see a total."""
    add = summand - ((1 << shift) >> 1) - (spec.requant.zero_point << shift)
    sums = np.stack([summand, spec.low * mul + summand, spec.high * mul + summand])
    sums = np.concatenate([sums, sums + _room(spec.requant, shift), add[None]])
    return np.asarray(np.all(are_words(sums), axis=0))


def are_words(values: Array) -> Array:
    return (values >= INT32[0]) & (values <= INT32[1])


def stays_in_words(spec: RequantSpec) -> Array:
    """Whether a requantisation stays within 32 bits as it stands, for each filter."""
    requant, add = spec.requant, np.int64(0) if spec.add is None else spec.add
    summand = add + ((1 << requant.shift) >> 1) + (requant.zero_point << requant.shift)
    return fits(spec, spec.mul, np.broadcast_to(summand, spec.mul.shape), requant.shift)


def same_results(spec: RequantSpec, mul: Array, shift: int) -> Array:
    """For each filter, whether factors and one shift stay within 32 bits and give the same results for all totals."""
    summand = np.full(len(mul), ((1 << shift) >> 1) + (spec.requant.zero_point << shift), np.int64)
    same = np.all(line_steps(spec, mul, summand, shift) == spec.steps, axis=1)
    return np.asarray(same & fits(spec, mul, summand, shift))


def _room(requant: Requant, shift: int | Array) -> int | Array:
    """What sums are more where results of int8 with the zero -128 are stored as uint8 with the zero 0."""
    return 128 << shift if requant.dtype == "int8" and requant.zero_point == -128 else 0

"""From a layer's own requantisation to one that N-EUREKA can do, or to the reason why the cores have to.

The layer wants  clamp(round(((acc + bias) * mul + add) / 2**shift) + zero_point, low, high);
N-EUREKA gives   clip((acc * scale + summand) >> shift)   in 32 bits, clipped to all of its type.
Both are the same where `summand` has the bias times mul, add, one half and the zero point, all times 2**shift, and
nothing leaves 32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import UP
from tilewright.ir.types import Array, narrowest
from tilewright.requant.brackets import one_line
from tilewright.requant.spec import INT32, RequantSpec

MOST_SHIFT = 31
SAMPLE = 4
"""Filters that are looked at first: mostly they have no such line already."""


@dataclass(frozen=True, eq=False)
class Totals:
    """What sums of products can be, for each filter."""

    low: Array
    high: Array
    bias: Array
    """Added to them: int64."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """A requantisation as N-EUREKA does it."""

    scale: Array
    bias: Array
    shift: int


def plain(totals: Totals) -> Scaling:
    """Totals with their bias."""
    return Scaling(np.ones(len(totals.bias), np.uint8), totals.bias.astype(np.int32), 0)


def scaling(requant: Requant, totals: Totals, mul: Array, add: Array | None) -> Scaling | str:
    """`mul` and `add` have a value for each filter; a text says why N-EUREKA cannot."""
    if requant.has_exponents:
        return _proven(requant, totals, mul, add)
    if requant.shift > MOST_SHIFT:
        return f"it is shifted by {requant.shift} bits, N-EUREKA shifts by at most {MOST_SHIFT}"
    if requant.rounding not in UP and requant.shift:
        return f"halves are rounded {requant.rounding}"
    if requant.dtype not in ("int8", "uint8") or not requant.clips_to_type:
        return f"results are clipped to {requant.low} and {requant.high}"
    if mul.min() < 0:
        return f"a factor is {mul.min()}, negative"
    factor = mul.astype(np.int64)
    half = (1 << requant.shift) >> 1
    summand = totals.bias * factor + half + (requant.zero_point << requant.shift)
    summand = summand if add is None else summand + add.astype(np.int64)
    reach = max(_largest(totals.low * factor + summand), _largest(totals.high * factor + summand), _largest(summand))
    if reach > INT32[1]:
        return f"products of up to 2^{reach.bit_length() - 1} do not fit its 32 bits"
    dtype = narrowest(0, int(factor.max()), ("uint8", "uint16", "int32")) or "int32"
    return Scaling(factor.astype(dtype), summand.astype(np.int32), requant.shift)


def _proven(requant: Requant, totals: Totals, mul: Array, add: Array | None) -> Scaling | str:
    """One of TensorFlow Lite's, where a line is the same for all totals."""
    spec = RequantSpec(requant, mul, add, totals.low + totals.bias, totals.high + totals.bias)
    found = one_line(spec.part(slice(SAMPLE)), totals.bias[:SAMPLE]) and one_line(spec, totals.bias)
    if found is None:
        return f"no scale with one shift gives all results of the rounding {requant.rounding}"
    scale, summand, shift = found
    return Scaling(scale.astype(np.uint16), (summand + totals.bias * scale).astype(np.int32), shift)


def _largest(values: Array) -> int:
    return int(np.abs(values).max())

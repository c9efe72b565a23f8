"""From a layer's own requantisation to one that N-EUREKA can do, or to the reason why the cores have to.

The layer wants  clamp(round(((acc + bias) * mul + add) / 2**shift) + zero_point, low, high);
N-EUREKA gives   clip((acc * scale + summand) >> shift)   in 32 bits, clipped to all of its type.
Both are the same where `summand` has the bias times mul, add, one half and the zero point, all times 2**shift, and
nothing leaves 32 bits.
"""

from __future__ import annotations

import math

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import PLAIN
from tilewright.ir.types import Array, narrowest
from tilewright.records import dataclass
from tilewright.requant.arithmetic import Arithmetic
from tilewright.requant.brackets import one_line
from tilewright.requant.solver import Form, whole
from tilewright.requant.spec import RequantSpec

MOST_SHIFT = 31
FORM = Form(
    "neureka", frozenset({Arithmetic.ONCE, Arithmetic.SUMMED}), whole("int8", "uint8"), PLAIN, (0, MOST_SHIFT),
    product=1 << 31, product_wraps=True, factors=(0, math.inf),
)  # fmt: skip
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
    factor, more = mul.astype(np.int64), None if add is None else add.astype(np.int64)
    # What sums begin with counts too, if they should be on one side of it.
    low, high = (end(ends, 0) + totals.bias for end, ends in ((np.minimum, totals.low), (np.maximum, totals.high)))
    spec = RequantSpec(requant, factor, more, low, high)
    unsupported_reason = FORM.unsupported_reason(spec)
    if unsupported_reason:
        return unsupported_reason
    summand = totals.bias * factor + FORM.summand(spec, np.full_like(factor, requant.shift))
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

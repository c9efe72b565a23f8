"""Factors of requantisations that are short: m / 2**shift, one shift for a layer, m of at most 16 bits.

Hardware multiplies with such factors and rounds in 32 bits. A quantiser that chooses scales for that can store them only
as float32: the scale of weights is rounded, and the product of scales is no short number any more. A float32 stands for
every number that is rounded to it, so that of those the short one may be taken: what a runtime computes with float32 is
no nearer.
"""

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array

MOST_FACTOR = 2**16 - 1
"""N-EUREKA's factors have 8, 16 or 32 bits; more than 16 decide about no result."""
MOST_SHIFT = 31
HALF_STEP = 2.0**-24 * (1 + 2.0**-20)
"""Of a float32, relative; the product of scales is rounded to 53 bits on top."""


def finest_shift(largest: float) -> int:
    """The largest shift for which a factor still is short."""
    return min(MOST_SHIFT, int(np.floor(np.log2(MOST_FACTOR / largest))))


def shortened(factors: Array) -> Array:
    """The short factors that these are when one scale of each is rounded to float32; as they are if there are none."""
    if not factors.size or not np.all(np.isfinite(factors)) or np.any(factors <= 0):
        return factors
    # What is short with some shift is so with every larger one.
    unit = 2.0 ** -finest_shift(float(factors.max()))
    short = np.rint(factors / unit) * unit
    return short if np.all(np.abs(short - factors) <= HALF_STEP * factors) else factors

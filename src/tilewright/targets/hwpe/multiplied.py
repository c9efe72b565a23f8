"""Results of 16 bits, and all of windows in parts, whose totals N-EUREKA multiplies, in 32 bits: cores shift and clip
them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from tilewright.ir.rounding import UP
from tilewright.ir.types import Array, narrowest
from tilewright.records import dataclass
from tilewright.requant.lines import are_words
from tilewright.targets.hwpe.requantising import MOST_SHIFT
from tilewright.targets.hwpe.sums import Sums


@dataclass(frozen=True, eq=False)
class Multiplied:
    """total * scale + bias, which is then to be shifted."""

    scale: Array
    bias: Array
    """A row for results inside, with one half and the zero point; then what those over edges have besides."""
    shift: int


def multiplied(sums: Sums, biases: Sequence[Array], dtypes: Collection[str]) -> Multiplied | None:
    """None where results are others, or products do not fit 32 bits even without the zeros that factors end with."""
    requant = sums.requant
    if requant is None or sums.mul is None or requant.dtype not in dtypes or requant.rounding not in UP:
        return None
    if not requant.clips_to_type or sums.mul.min() < 0:
        return None
    add = np.zeros_like(sums.mul) if sums.add is None else sums.add.astype(np.int64)
    zeros = min(_trailing_zeros(np.concatenate([sums.mul, add])), requant.shift)
    factor, shift = sums.mul.astype(np.int64) >> zeros, requant.shift - zeros
    inside = biases[0] * factor + (add >> zeros) + ((1 << shift) >> 1) + (requant.zero_point << shift)
    rows = np.stack([inside, *((edge - biases[0]) * factor for edge in biases[1:])])
    if shift > MOST_SHIFT or not _fits(sums, factor, inside, rows):
        return None
    dtype = narrowest(0, int(factor.max()), ("uint8", "uint16", "int32")) or "int32"
    return Multiplied(factor.astype(dtype), rows.astype(np.int32), shift)


def _trailing_zeros(mul: Array) -> int:
    """That all factors have."""
    used = int(np.bitwise_or.reduce(mul.astype(np.int64)))
    return (used & -used).bit_length() - 1 if used else 0


def _fits(sums: Sums, factor: Array, inside: Array, rows: Array) -> bool:
    """Whether products of all totals, of some of their taps, and what is added to them stay within 32 bits."""
    ends = np.stack([np.minimum(sums.totals.low, 0), np.maximum(sums.totals.high, 0)]) * factor
    edges = np.concatenate([np.zeros_like(inside)[None], rows[1:]])
    added = np.concatenate([edges, edges + inside])
    return bool(np.all(are_words(ends[:, None] + added[None])))

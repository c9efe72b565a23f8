"""What the products of an attention's rows become where nothing is masked, what a mask changes, and how exponentials
run: as masked_softmax.c takes them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from tilewright.ir.op import Params
from tilewright.ir.types import Array, limits
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.records import dataclass
from tilewright.requant.requant32 import HALF, Requant32, half_factor, narrowed, upper_half
from tilewright.target.extents import up
from tilewright.targets.pulp.dialect import EXPONENTIALS, exponentials
from tilewright.targets.pulp.masked_softmax_operator import BYTE, MaskedSoftmax, products, score_requant

ENTRIES = 260
"""Of tw_scoring's table."""
QUIET = 16
"""By how much exponentials must be smaller than the largest for columns to be looked at on their own."""
RISES = 256
"""What rises are counted in."""


@cache
def masked_scores(masking: RequantizedAdd, low: int, top: int, mask: str) -> Array:
    """Of every score from `low` on and every byte of a mask from the smallest on, counted from the lowest."""
    scores = np.arange(low, low + top + 1, dtype=np.int32)[:, None]
    every_byte = np.arange(BYTE, dtype=np.int32)[None, :] + limits(mask)[0]
    return masking.numpy(scores, every_byte).astype(np.int64) - limits(masking.out.requant.dtype)[0]


def unmasked_scores(op: MaskedSoftmax, found: Requant32, mask: str) -> tuple[int, ...]:
    """Of every score, where the mask is 0."""
    scores = masked_scores(op.masking, found.low, found.top, mask)[:, -limits(mask)[0]]
    return tuple(scores.tolist())


# ---- scores where the mask is 0 ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Clipped:
    """table[rounded upper half of clip(product, -bound - 1, bound) * factor, plus base]."""

    bound: int
    factor: int
    base: int
    table: tuple[int, ...]


def scoring(length: int, unmasked: tuple[int, ...], found: Requant32) -> Params:
    """By one product of 16 bits if that is exact, else by the narrowing."""
    chosen = clipped_scores(found, length, unmasked) or Clipped(0, 0, 0, unmasked)
    return {
        "words": length // 4, "bound": chosen.bound, "factor": chosen.factor, "base": chosen.base,
        "narrowing": found.params(), "table": chosen.table,
    }  # fmt: skip


@cache
def clipped_scores(found: Requant32, length: int, unmasked: tuple[int, ...]) -> Clipped | None:
    factor = half_factor(found)
    dots = np.arange(-HALF, HALF, dtype=np.int64)
    indices = narrowed(found, dots)
    ends = narrowed(found, np.array(products(length)))
    if factor is None or indices[0] != ends[0] or indices[-1] != ends[1]:
        return None
    changes = np.flatnonzero(np.diff(indices))
    bound = max(1, -int(dots[changes[0]]) - 1, int(dots[changes[-1] + 1])) if len(changes) else 1
    inside = slice(HALF - bound - 1, HALF + bound + 1)
    upper = upper_half(dots[inside], factor)
    base = -int(upper.min())
    table = np.zeros(int(upper.max()) + base + 1, np.int64)
    scores = np.array(unmasked)[indices[inside]]
    table[upper + base] = scores
    if len(table) > ENTRIES or (table[upper + base] != scores).any():
        return None
    return Clipped(bound, factor, base, tuple(table.tolist()))


# ---- exponentials of scores --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Course:
    """Of exponentials away from a row's largest score."""

    quiet: int
    """From which distance on they are small."""
    gone: int
    """From which on they are 0."""
    rise: int
    """By how much more than 1 a small one is at most larger than one that is nearer; in parts of RISES."""


@cache
def course(softmax: iSoftmax) -> Course:
    nearest_first = np.array(exponentials(softmax))[::-1]
    quiet = int(np.flatnonzero(nearest_first * QUIET > nearest_first[0])[-1]) + 1
    gone = int(np.flatnonzero(nearest_first)[-1]) + 1
    small = nearest_first[quiet:gone]
    farther = np.maximum.accumulate(small[::-1])[::-1]
    rises = [up(int(later - one - 1) * RISES, max(one, 1)) for one, later in zip(small, farther, strict=True)]
    rise = int(max(rises, default=0))
    return Course(quiet if rise <= RISES else EXPONENTIALS, gone, max(rise, 0))


# ---- masks -------------------------------------------------------------------------------------------------------


@cache
def masks(op: MaskedSoftmax, length: int, mask: str) -> tuple[int, ...] | None:
    """For each byte of a mask how scores are clipped and shifted: words of least, most, summand and highest result.
    None where that is not all that masking does."""
    found = score_requant(op.score, length)
    if found is None:
        return None
    every = masked_scores(op.masking, found.low, found.top, mask)
    unmasked = every[:, -limits(mask)[0]]
    entries = list[int]()
    for masked, ends in zip(every.T, _ends(every), strict=True):
        entry = _entry(unmasked, masked, *ends)
        if entry is None:
            return None
        entries.append(entry)
    return tuple(entries)


def _ends(every: Array) -> Iterable[tuple[int, int]]:
    """The lowest and the highest score with each byte of a mask."""
    return zip(every.min(axis=0).tolist(), every.max(axis=0).tolist(), strict=True)


def _entry(unmasked: Array, masked: Array, low: int, high: int) -> int | None:
    if low == high:
        return low << 16 | high << 24
    added = masked - unmasked
    between = added[(masked > low) & (masked < high)]
    # What is not clipped is shifted by the same: one score between tells by how much.
    for add in between[:1].tolist() or np.unique(added).tolist():
        least, most = max(low - add, 0), min(high - add, BYTE - 1)
        if least < most and (unmasked.clip(least, most) + add == masked).all():
            return least | most << 8 | add % BYTE << 16 | high << 24
    return None

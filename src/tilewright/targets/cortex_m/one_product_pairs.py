"""Pairs of filters that are scaled by one product: totals of first filters are shifted left before, those of second
ones are 256 times as large anyway."""

from __future__ import annotations

import numpy as np

from tilewright.errors import instance
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, limits
from tilewright.records import dataclass
from tilewright.requant.one_product import OneProduct, one_product
from tilewright.targets.cortex_m.ways import SECOND, Filters, as_words, in_pairs

FIRST_SHIFT, SECOND_SHIFT = 14, 10
"""As TW_ONE_... in C."""


@dataclass(frozen=True, eq=False)
class OneProductPairs:
    first: OneProduct
    second: OneProduct

    def words(self, start: Array, groups: int) -> Array:
        """[groups * pairs, 8], as `Filters.in_pairs` has them: the left shift of the first one is its shift."""
        starts = in_pairs(start, groups)
        scaling = [
            np.stack(pair, 1)
            for pair in (
                (self.first.factor, self.second.factor), (self.first.left, self.second.left),
                (self.first.addend, self.second.addend),
            )
        ]  # fmt: skip
        words = as_words(starts, False, scaling)
        words[:, 1] += self.second.offset.astype(np.int32)
        return words

    def __call__(self, totals: Array, groups: int) -> Array:
        """Totals have filters first."""
        pairs = in_pairs_of_totals(totals, groups)
        found = np.stack([self.first(pairs[:, 0]), self.second(pairs[:, 1])], 1)
        return found.reshape(groups, -1, *totals.shape[1:])[:, : len(totals) // groups].reshape(totals.shape)


def in_pairs_of_totals(totals: Array, groups: int) -> Array:
    """[groups * pairs, 2, ...]; what is missing is zero."""
    per_group = totals.reshape(groups, -1, *totals.shape[1:])
    missing = [(0, 0), (0, per_group.shape[1] % 2)] + [(0, 0)] * (totals.ndim - 1)
    return np.pad(per_group, missing).reshape(-1, 2, *totals.shape[1:])


def one_product_pairs(requant: Requant, filters: Filters, groups: int) -> OneProductPairs | None:
    """None where a filter has no such form."""
    first, second = (_every_second(filters, groups, which) for which in (0, 1))
    one = one_product(first.spec(requant), FIRST_SHIFT, has_offset=False)
    other = None if one is None else one_product(second.spec(requant), SECOND_SHIFT, left=SECOND)
    return None if one is None or other is None else OneProductPairs(one, other)


def from_words(words: Array) -> OneProductPairs:
    """Without starts and offsets, but for how much the second start is off."""
    wide = words.astype(np.int64)
    none = np.zeros(len(wide), np.int64)
    offset = (wide[:, 1] - wide[:, 0]).astype(np.int32) & ((1 << SECOND) - 1)
    first = OneProduct(wide[:, 3], none, wide[:, 2], wide[:, 4], none + FIRST_SHIFT)
    return OneProductPairs(first, OneProduct(none + SECOND, offset, wide[:, 5], wide[:, 7], none + SECOND_SHIFT))


def results(words: Array, requant: Requant | None, totals: Array, groups: int) -> Array:
    """Of totals that have filters first."""
    dtype = instance(requant, Requant).dtype
    return np.clip(from_words(words)(totals, groups), *limits(dtype)).astype(dtype)


def _every_second(filters: Filters, groups: int, which: int) -> Filters:
    def half(values: Array) -> Array:
        return in_pairs(values, groups)[:, which]

    add = None if filters.add is None else half(filters.add)
    return Filters(half(filters.start), half(filters.mul), add, half(filters.least), half(filters.most))

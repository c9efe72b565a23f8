"""Whether a computation gives the results of a requantisation for every total that a filter can have.

It shares nothing with the search for forms: it asks the requantisation and the computation alone. Results are few, so
that the least total of each is looked for, by halving. A computation whose results never shrink, as those of a
product, sums and shifts to the right with a factor that is not negative, is the same for every total if it reaches each
result where the requantisation does, and not one total before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.ir.types import Array
from tilewright.requant.spec import RequantSpec

Computation = Callable[[Array], Array]
"""Results of totals [filters, n]."""


def differing(spec: RequantSpec, computed: Computation) -> Array | None:
    """[filters]: a total for which the results differ; None where there is none for any filter."""
    wrong = spec.high + 1
    for totals in _decisive(spec):
        inside = np.clip(totals, spec.low[:, None], spec.high[:, None])
        is_other = computed(inside).astype(np.int64) != _wanted(spec, inside)
        found = np.where(is_other, inside, spec.high[:, None] + 1).min(axis=1)
        wrong = np.minimum(wrong, found)
    return wrong if np.any(wrong <= spec.high) else None


def _wanted(spec: RequantSpec, totals: Array) -> Array:
    add = None if spec.add is None else spec.add[:, None]
    return spec.requant(totals, spec.mul[:, None], add).astype(np.int64)


def _decisive(spec: RequantSpec) -> list[Array]:
    """The first total of each result and the last before it; both ends."""
    firsts = _firsts(spec, np.arange(spec.requant.low + 1, spec.requant.high + 1, dtype=np.int64))
    return [firsts, firsts - 1, np.stack([spec.low, spec.high], axis=1)]


def _firsts(spec: RequantSpec, results: Array) -> Array:
    """[filters, results]: the least total with this result or a larger one, or one beyond the highest."""
    shape = len(spec.mul), len(results)
    below, reached = (np.broadcast_to(end[:, None], shape) for end in (spec.low - 1, spec.high + 1))
    while np.any(reached - below > 1):
        middle = (below + reached) >> 1
        is_enough = (_wanted(spec, np.maximum(middle, spec.low[:, None])) >= results) & (middle > below)
        reached = np.where(is_enough, middle, reached)
        below = np.where(is_enough, below, np.maximum(middle, below))
    return reached

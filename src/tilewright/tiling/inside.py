"""How much of an operator's work is on elements of tensors, and not on padding or on results that are cropped."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tilewright.ir.affine import Affine
from tilewright.ir.op import Op
from tilewright.ir.types import Shape, Shapes

LARGEST = 1 << 24
"""Combinations of loop values that are looked at one by one; of more, no work is taken to be inside."""


def macs_inside(op: Op, shapes: Shapes) -> int:
    """MACs that no kernel can leave out: those that read no padding and make no result that is cropped."""
    total = op.least_macs(shapes)
    return math.floor(total * inside_share(op, shapes)) if total else 0


def inside_share(op: Op, shapes: Shapes) -> float:
    """At most the part of the loop nest in which all indices lie in their tensors."""
    return _inside_share(op, tuple(shapes.items())) if op.has_loops else 1.0


@lru_cache(maxsize=1024)
def _inside_share(op: Op, given: tuple[tuple[str, Shape], ...]) -> float:
    """Networks have many layers that are alike, and each is asked for several engines."""
    shapes = dict(given)
    index, extents = op.index(shapes), op.extents(shapes)
    sizes = {**shapes, **dict(zip(op.results, op.result_shapes(shapes), strict=False))}
    found = [
        (frozenset(axis.loops), _share(axis, size, extents))
        for name in index.keys() & sizes.keys()
        for axis, size in zip(index[name], sizes[name], strict=True)
    ]
    return _together({loops: share for loops, share in sorted(found, key=_by_share, reverse=True) if share < 1.0})


def _by_share(found: tuple[frozenset[str], float]) -> float:
    return found[1]


def _together(shares: dict[frozenset[str], float]) -> float:
    """Independent where axes have no loop in common; else what one leaves out may not be what the other does."""
    loops = [loop for group in shares for loop in group]
    if len(loops) == len(set(loops)):
        return math.prod(shares.values())
    return max(0.0, 1.0 - sum(1.0 - share for share in shares.values()))


def _share(axis: Affine, size: int, extents: dict[str, int]) -> float:
    """Of the elements that an axis is indexed by, those that it has."""
    low, high = axis.span({loop: (0, extents[loop]) for loop in axis.loops})
    if low >= 0 and high <= size:
        return 1.0
    if math.prod(extents[loop] for loop in axis.loops) > LARGEST:
        return 0.0
    first = np.array(axis.offset)
    for loop, factor in axis.terms:
        first = np.add.outer(first, factor * np.arange(extents[loop]))
    inside = np.minimum(first + axis.width, size) - np.maximum(first, 0)
    return float(np.maximum(inside, 0).mean() / axis.width) if first.size else 1.0

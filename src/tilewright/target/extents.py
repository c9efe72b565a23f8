"""What the cycles of kernels are counted in, whatever the target: extents of loops, and units of work."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilewright.target.kernel import Types

Extents = Mapping[str, int]
"""Of the loops in a tile."""


def up(count: int, unit: int) -> int:
    """How many units are begun."""
    return -(-count // unit)


def product_sizes(types: Types, extents: Extents) -> tuple[int, int, int, int]:
    """Matrices, rows, length of the sum and columns. A batch of rows on one matrix is one matrix."""
    batches = prod(size for loop, size in extents.items() if loop not in ("m", "n", "k"))
    rows, inner, columns = (extents.get(loop, 1) for loop in "mkn")
    shared = prod(types["B"].shape[:-2]) == 1
    return (1, batches * rows, inner, columns) if shared else (batches, rows, inner, columns)

"""What the cycles of kernels are counted in, whatever the target: extents of loops, and units of work."""

from __future__ import annotations

from collections.abc import Mapping

Extents = Mapping[str, int]
"""Of the loops in a tile."""


def up(count: int, unit: int) -> int:
    """How many units are begun."""
    return -(-count // unit)

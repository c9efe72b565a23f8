"""The stacks of a network's cores."""

from __future__ import annotations

from tilewright.records import dataclass


@dataclass(frozen=True)
class Stacks:
    each: int
    """Bytes for each core that computes."""
    dma_core: int
    """Bytes for the one that moves data and drives accelerators."""
    in_tile_memory: bool


CALLERS = Stacks(0, 0, False)
"""Stacks that whoever calls a network has."""

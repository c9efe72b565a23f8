"""Which constants live elsewhere than in L2, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Elsewhere:
    """Constants that do not live in L2."""

    l3: frozenset[str] = frozenset()
    """Staged in L2 when they are needed."""
    wmem: frozenset[str] = frozenset()
    """Read by cores and the DMA where they lie, as those of L2 are."""

    @property
    def all(self) -> frozenset[str]:
        return self.l3 | self.wmem

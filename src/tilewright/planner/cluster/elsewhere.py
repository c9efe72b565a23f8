"""Which constants live elsewhere than in the home of tensors, as data, and those whose memory is no longer a choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tilewright.ir.digest import digest
from tilewright.ir.graph import Graph
from tilewright.records import dataclass
from tilewright.target.settings import Settings


@dataclass(frozen=True)
class Elsewhere:
    """Constants that do not live in the home of tensors, each with its memory."""

    staged: Mapping[str, str] = field(default_factory=dict)
    """Those that come to the home when they are needed."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Those that cores and the DMA read where they lie, as those of the home are."""

    @property
    def all(self) -> frozenset[str]:
        return frozenset(self.staged.keys() | self.beside.keys())


def pinned_constants(graph: Graph, settings: Settings) -> dict[str, str]:
    """Constants that another network of the program has, and the memory that they live in."""
    if not settings.pinned:
        return {}
    known = dict(settings.pinned)
    found = {name: known.get(digest(array), "") for name, array in graph.constants.items()}
    return {name: memory for name, memory in found.items() if memory}

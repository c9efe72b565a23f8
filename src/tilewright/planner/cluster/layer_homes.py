"""The memories that a layer's activations may live in."""

from __future__ import annotations

import itertools

from tilewright.planner.cluster.tiling_option import Layer
from tilewright.records import dataclass

MOST_COMBINED = 3
"""Activations of a layer of which every choice of homes is considered."""


@dataclass(frozen=True)
class Homes:
    """Where a layer's activations live; those in neither are in L2."""

    inside: frozenset[str] = frozenset()
    spilled: frozenset[str] = frozenset()


AT_HOME = Homes()


def homes_of(layer: Layer) -> list[Homes]:
    found = []
    for inside in _choices(layer.movable):
        spillable = layer.spillable - inside
        singles = [frozenset({owner}) for owner in sorted(spillable)] if len(spillable) > MOST_COMBINED else []
        found += [Homes(inside, spilled) for spilled in (*_choices(spillable), *singles)]
    return found


def _choices(owners: frozenset[str]) -> list[frozenset[str]]:
    """Every choice of a few, or all or none of many."""
    if len(owners) > MOST_COMBINED:
        return [frozenset(), owners]
    ordered = sorted(owners)
    return [frozenset(c) for count in range(len(ordered) + 1) for c in itertools.combinations(ordered, count)]

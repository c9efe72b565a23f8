"""Rewrites that make a network fit: sums, constants and columns are split until tiles fit the memories."""

from __future__ import annotations

from tilewright.ir.graph import Node
from tilewright.passes.aliasing import all_owners, insides
from tilewright.planner.candidates import layers_of
from tilewright.planner.capacity import near_room
from tilewright.planner.enumerate import fits, ways
from tilewright.planner.lifetimes import steps_of
from tilewright.planner.plan import (
    _limits,
)
from tilewright.target.mapping import Mapped
from tilewright.target.settings import Settings


def tight(mapped: Mapped, settings: Settings) -> list[Node]:
    """Layers of which no tile fits the near memory with the kernel that is preferred."""
    graph, room = mapped.graph, near_room(mapped, settings)
    inside = insides(graph)
    owners = all_owners(graph, inside)
    limits = _limits(room, mapped, settings)
    groups = ((n, layers_of(mapped, settings, room, n, owners, frozenset(), inside)) for n in steps_of(graph))
    return [node for node, group in groups if not fits(group[0], limits)]


def stuck(mapped: Mapped, settings: Settings) -> list[Node]:
    """Layers that cannot be run at all: no tile fits the near memory, and in the far one a Concat wants their results
    apart."""
    graph, room = mapped.graph, near_room(mapped, settings)
    inside = insides(graph)
    owners = all_owners(graph, inside)
    limits = _limits(room, mapped, settings)
    nodes = [node for node in steps_of(graph) if any(name in inside for name in node.outputs)]
    groups = ((n, layers_of(mapped, settings, room, n, owners, frozenset(), inside)) for n in nodes)
    return [node for node, group in groups if not any(ways(layer, limits) for layer in group)]

"""Rewrites that make a network fit: sums, constants and columns are split until tiles fit the memories."""

from __future__ import annotations

from tilewright.ir.graph import Node
from tilewright.passes.aliasing import all_owners, insides
from tilewright.planner.candidates import layers_of, limits_of
from tilewright.planner.capacity import l1_budget
from tilewright.planner.enumerate import fits, options
from tilewright.planner.lifetimes import steps_of
from tilewright.target.mapping import Mapped
from tilewright.target.settings import Settings


def needs_reduction_split(mapped: Mapped, settings: Settings) -> list[Node]:
    """Layers of which no tile fits the near memory with the kernel that is preferred."""
    graph, budget = mapped.graph, l1_budget(mapped, settings)
    inside = insides(graph)
    owners = all_owners(graph, inside)
    limits = limits_of(budget, mapped, settings)
    groups = ((n, layers_of(mapped, settings, budget, n, owners, frozenset(), inside)) for n in steps_of(graph))
    return [node for node, group in groups if not fits(group[0], limits)]


def needs_concat_copy(mapped: Mapped, settings: Settings) -> list[Node]:
    """Layers that cannot be run at all: no tile fits the near memory, and in the far one a Concat wants their results
    apart."""
    graph, budget = mapped.graph, l1_budget(mapped, settings)
    inside = insides(graph)
    owners = all_owners(graph, inside)
    limits = limits_of(budget, mapped, settings)
    nodes = [node for node in steps_of(graph) if any(name in inside for name in node.outputs)]
    groups = ((n, layers_of(mapped, settings, budget, n, owners, frozenset(), inside)) for n in nodes)
    return [node for node, group in groups if not any(options(layer, limits) for layer in group)]

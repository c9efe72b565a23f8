"""The order of nodes with the lowest peak of live bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilewright.ir.graph import Graph
from tilewright.memory.ordering import Task, order
from tilewright.passes.aliasing import (
    view_owners,
)


def reorder(graph: Graph) -> Graph:
    """The same nodes in the order with the lowest peak of live bytes; the same graph where they are in it."""
    owners = view_owners(graph)
    callers = {owners[name] for name in (*graph.sources, *graph.outputs, *graph.constants)}
    states = {state.before for state in graph.states}
    sizes = {owner: graph.types[owner].bytes for owner in dict.fromkeys(owners.values()) if owner not in callers}
    tasks = [
        Task(
            _unique(name for read in filter(None, node.inputs) for name in (read, owners[read])),
            # Who reads the old value of a state comes before who makes the new one.
            _unique((*node.outputs, *(owners[made] for made in node.outputs if made and owners[made] in states))),
        )
        for node in graph.nodes
    ]
    found = order(tasks, sizes, frozenset())
    if found == tuple(range(len(tasks))):
        return graph
    return replace(graph, nodes=tuple(graph.nodes[i] for i in found))


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, names)))

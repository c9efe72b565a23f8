"""The order of nodes with the lowest peak of live bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilewright.ir.graph import Graph
from tilewright.memory.ordering import Task, order
from tilewright.passes.aliasing import Owners, is_only_reader, view_owners


def reorder(graph: Graph) -> Graph:
    """The same nodes in the order with the lowest peak of live bytes; the same graph where they are in it."""
    owners: Owners = view_owners(graph)
    if any(state.before != state.after for state in graph.states):
        owners = overwriting(graph, view_owners(graph))
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


def overwriting(graph: Graph, owners: dict[str, str]) -> Owners:
    """Owners where results of functions of elements take the place of operands that nobody else reads: nothing more is
    needed then on the way to the new value of a state, which has its bytes already."""
    taken = {owners[name] for name in (*graph.sources, *graph.sinks, *graph.constants)}
    for node in graph.nodes:
        if node.op.elementwise and owners[node.key] == node.key and node.key not in taken and len(node.outputs) == 1:
            places = (
                name
                for name in dict.fromkeys(filter(None, node.inputs))
                if graph.types[name] == graph.types[node.key] and owners[name] not in taken
                if is_only_reader(graph, node, name)
            )
            owners[node.key] = owners[next(places, node.key)]
    return owners


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, names)))

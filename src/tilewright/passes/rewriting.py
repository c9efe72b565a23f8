"""Help for passes: walk a graph into a new one, replacing nodes and renaming tensors on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tilewright.ir.graph import Builder, Graph, Node, rebuild
from tilewright.ir.unused import drop_unused

Replace = Callable[[Node, Builder], Mapping[str, str] | None]
"""Emits what stands for a node and says which tensor stands for each of its results; None keeps the node."""


def rewrite(graph: Graph, change: Replace) -> Graph:
    """A new graph in which `change` has been asked about every node, in order; what nothing needs is dropped.
    The same graph where nothing changes."""
    builder = rebuild(graph)
    renamed: dict[str, str] = {}
    is_same = True
    for node in graph.nodes:
        if not renamed.keys().isdisjoint(node.inputs):
            node = replace(node, inputs=tuple(renamed.get(name, name) for name in node.inputs))
        builder.node_name = node.name
        changed = change(node, builder)
        if changed is None:
            builder.copy_node(node, graph)
        else:
            renamed.update(changed)
            is_same = False
    if is_same and tuple(builder.notes) == graph.notes and builder.numerics_records == graph.numerics_records:
        return drop_unused(graph)
    builder.copy_outputs(graph, lambda tensor: renamed.get(tensor, tensor))
    return drop_unused(builder.build())

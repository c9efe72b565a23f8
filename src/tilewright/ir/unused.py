"""Nodes and constants of a graph that nothing needs."""

from __future__ import annotations

from dataclasses import replace

from tilewright.ir.graph import Graph, Node


def drop_unused(graph: Graph) -> Graph:
    """Without the nodes and constants that no output or state needs; the same graph where all are needed."""
    needed = set(graph.sinks)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(name in needed for name in node.outputs):
            kept.append(node)
            needed.update(filter(None, node.inputs))
    nodes = tuple(reversed(kept))
    constants = {name: value for name, value in graph.constants.items() if name in needed}
    if len(nodes) == len(graph.nodes) and len(constants) == len(graph.constants):
        return graph
    defined = {*graph.sources, *constants, *(name for node in nodes for name in node.outputs)}
    types = {name: kind for name, kind in graph.types.items() if name in defined}
    return replace(graph, nodes=nodes, constants=constants, types=types)

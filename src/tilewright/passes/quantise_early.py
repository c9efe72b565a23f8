"""Floats are quantised before they are moved: bytes are a quarter of what moves then."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.concat import Concat
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

MOVING = (Concat, Reshape, Transpose)
"""Operators whose results are all the elements of their operands."""


def run(graph: Graph) -> Graph:
    """Quantisers go from result to operands until nothing is before them that moves."""
    while any(_moved_before(graph, node) is not None for node in graph.nodes):
        graph = _one_step(graph)
    return graph


def _one_step(graph: Graph) -> Graph:
    def quantise_operands(node: Node, builder: Builder) -> dict[str, str] | None:
        move = _moved_before(graph, node)
        if move is None:
            return None
        parts = [builder.add(node.op, [name, *node.inputs[1:]])[0] for name in move.inputs]
        builder.add(move.op, parts, node.outputs, move.name)
        return {node.key: node.key}

    return rewrite(graph, quantise_operands)


def _moved_before(graph: Graph, node: Node) -> Node | None:
    """What moves the floats that a node quantises with one scale, if nobody else reads them there."""
    if not isinstance(node.op, QuantizeLinear) or graph.types[node.inputs[1]].elements != 1:
        return None
    move = graph.producers.get(node.inputs[0])
    if move is None or not isinstance(move.op, MOVING) or move.key in graph.sinks:
        return None
    return move if len(graph.consumers[move.key]) == 1 else None


def none_moved_before(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        move = _moved_before(graph, node)
        if move is not None:
            yield node.where, f"quantises what '{move.key}' has moved"


QUANTISE_EARLY = Pass("quantise before moving", run, ensures=none_moved_before)

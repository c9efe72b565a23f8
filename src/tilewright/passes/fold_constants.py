"""Compute at compile time what depends on constants alone."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.passes import Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    return rewrite(graph, lambda node, builder: _fold(graph, node, builder))


def _fold(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    operands = [name for name in node.inputs if name]
    if not operands or not all(name in builder.constants for name in operands):
        return None
    if _grows(node, builder, graph):
        return None
    values = evaluate_node(graph, node, builder.constants)
    names = zip(node.outputs, values, strict=False)
    return {name: builder.constant(value, name) for name, value in names if name}


def _grows(node: Node, builder: Builder, graph: Graph) -> bool:
    """Whether the result takes more flash than what it is made from: int8 weights must not become floats."""
    before = sum(builder.types[name].bytes for name in set(node.inputs) if name)
    after = sum(graph.types[name].bytes for name in node.outputs if name)
    return after > 2 * before and after > 1024


FOLD_CONSTANTS = Pass("fold constants", run)

"""Compute at compile time what depends on constants alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from tilewright.ir.at_sizes import is_sized
from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import TensorType
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    return rewrite(graph, lambda node, builder: _fold(graph, node, builder))


def _fold(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not _is_constant(node, graph, builder.constants) or _grows(node, builder.types, graph):
        return None
    values = evaluate_node(graph, node, builder.constants)
    names = zip(node.outputs, values, strict=False)
    return {name: builder.constant(value, name) for name, value in names if name}


def _is_constant(node: Node, graph: Graph, constants: Collection[str]) -> bool:
    operands = [name for name in node.inputs if name]
    # A loop may run for long, or for ever.
    if not operands or not all(name in constants for name in operands) or node.op.bodies:
        return False
    # What a caller says the size of is not known yet.
    known = [graph.types[name] for name in (*operands, *node.outputs) if name in graph.types]
    return not any(map(is_sized, known))


def _grows(node: Node, types: Mapping[str, TensorType], graph: Graph) -> bool:
    """Whether the result takes more flash than what it is made from: int8 weights must not become floats."""
    before = sum(types[name].bytes for name in set(node.inputs) if name)
    after = sum(graph.types[name].bytes for name in node.outputs if name)
    return after > 2 * before and after > 1024


def nothing_left(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _is_constant(node, graph, graph.constants) and not _grows(node, graph.types, graph):
            yield node.where, "depends on constants alone"


FOLD_CONSTANTS = Pass("fold constants", run, ensures=nothing_left)

"""What is computed twice from the same operands is computed once."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite

Computation = tuple[Op, tuple[str, ...]]
"""An operator and its operands."""


def run(graph: Graph) -> Graph:
    made: dict[Computation, Node] = {}

    def merge(node: Node, builder: Builder) -> dict[str, str] | None:
        first = made.setdefault((node.op, node.inputs), node)
        if first is node or any(name in graph.sinks for name in node.outputs):
            return None
        pairs = zip(node.outputs, first.outputs, strict=True)
        return {name: same for name, same in pairs if name} if all(first.outputs) else None

    return rewrite(graph, merge)


def none_twice(graph: Graph) -> Iterator[Complaint]:
    made: dict[Computation, Node] = {}
    for node in graph.nodes:
        first = made.setdefault((node.op, node.inputs), node)
        if first is not node and all(first.outputs) and not any(name in graph.sinks for name in node.outputs):
            yield node.where, f"computes again what '{first.key}' is"


MERGE_EQUAL = Pass("merge equal nodes", run, ensures=none_twice)

"""What stands before a layer in generated C."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.codegen.names import comment
from tilewright.ir.graph import Graph, Node

FULL = 1000
"""Letters of a name: converters join those of everything that an operator was fused from."""


def layer_title(graph: Graph, number: int, node: Node, more: str = "") -> str:
    flow = f"{_types(graph, node.inputs)} -> {_types(graph, node.outputs)}"
    return f"/* {number}: {comment(node.name, FULL)} ({comment(node.op.kind)}) {flow}{more} */"


def _types(graph: Graph, names: Iterable[str]) -> str:
    return ", ".join(str(graph.types[name]) for name in names if name and name not in graph.constants)

"""Functions that are written out: several operators, element by element, from one tensor to another.

Of a tensor of bytes any such function is one table. Nothing inside is rounded, so that it is as good as if it had been
one operator, and costs no more.
"""

from __future__ import annotations

from tilewright.ir.graph import Graph, Node
from tilewright.ops._elementwise import Elementwise


def inside_functions(graph: Graph) -> set[str]:
    """Results that only later operators of the same function read."""
    sources = dict[str, str]()
    for node in graph.nodes:
        if (source := _source(graph, node, sources)) is not None:
            sources[node.key] = source
    return {tensor for tensor, source in sources.items() if _is_inside(graph, tensor, source, sources)}


def _source(graph: Graph, node: Node, sources: dict[str, str]) -> str | None:
    """The one tensor that a result is a function of, if it is read by several: what one operator reads, it takes in."""
    if not isinstance(node.op, Elementwise):
        return None
    read = [name for name in node.inputs if name and not _is_number(graph, name)]
    found = {sources.get(name, name) for name in read}
    if len(found) != 1 or graph.types[read[0]].shape != graph.types[node.key].shape:
        return None
    source = found.pop()
    return source if len(graph.consumers[source]) > 1 and source not in graph.constants else None


def _is_number(graph: Graph, name: str) -> bool:
    return name in graph.constants and graph.constants[name].size == 1


def _is_inside(graph: Graph, tensor: str, source: str, sources: dict[str, str]) -> bool:
    readers = graph.consumers.get(tensor, ())
    return bool(readers) and tensor not in graph.sinks and all(sources.get(each.key) == source for each in readers)

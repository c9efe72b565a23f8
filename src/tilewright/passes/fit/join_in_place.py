"""Every operand of a Concat gets a node that makes it for nobody else, and so can make it where the Concat wants it.

Tables of single bytes move before the Concat and are such nodes; what no node makes, or others read too, is copied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.concat import Concat
from tilewright.ops.identity import Identity
from tilewright.ops.lookup import ENTRIES, Lookup
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_joined, is_made_for, is_only_reader
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    return rewrite(graph, lambda node, builder: _copies(graph, node, builder))


def copying_operands(names: Collection[str]) -> Pass:
    """Of Concats."""
    return Pass("copy operands", partial(copy_operands, names=names), ensures=partial(all_copied, names=names))


def copy_operands(graph: Graph, names: Collection[str]) -> Graph:
    """Some operands of Concats are made in places of their own and copied: their nodes can give only dense results."""
    return rewrite(graph, lambda node, builder: _copied(node, builder, names))


def tables_first(graph: Graph) -> Graph:
    made = rewrite(graph, partial(_tables_first, graph))
    # A Concat may be an operand of another one.
    return tables_first(made) if any(no_joined_tables(made)) else made


def _copied(node: Node, builder: Builder, names: Collection[str]) -> Mapping[str, str] | None:
    if not isinstance(node.op, Concat) or not set(names) & set(node.inputs):
        return None
    parts = [
        builder.add(Identity(copy=True), [name], None, node.name)[0] if name in names else name for name in node.inputs
    ]
    builder.add(node.op, parts, node.outputs, node.name)
    return {name: name for name in node.outputs}


def _tables_first(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """A table behind a Concat as tables of its operands."""
    joined = _tabulated(graph, node)
    if joined is None:
        return None
    parts = [builder.add(node.op, [name, node.inputs[1]], None, node.name)[0] for name in joined.inputs]
    builder.add(joined.op, parts, node.outputs, joined.name)
    return {name: name for name in node.outputs}


def _tabulated(graph: Graph, node: Node) -> Node | None:
    """The Concat that a node looks up in one table for all, and that nothing else reads."""
    joined = graph.producers.get(node.inputs[0]) if isinstance(node.op, Lookup) else None
    if joined is None or not isinstance(joined.op, Concat) or not is_only_reader(graph, node, joined.key):
        return None
    return joined if graph.types[node.inputs[1]].elements == ENTRIES else None


def _copies(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not isinstance(node.op, Concat) or is_joined(graph, node):
        return None
    parts = [
        name if is_made_for(graph, node, name) else builder.add(Identity(copy=True), [name], None, node.name)[0]
        for name in node.inputs
    ]
    builder.add(node.op, parts, node.outputs, node.name)
    return {name: name for name in node.outputs}


def all_joined(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if isinstance(node.op, Concat) and not is_joined(graph, node):
            yield node.where, "has an operand that is not made for it alone"


def all_copied(graph: Graph, names: Collection[str]) -> Iterator[Complaint]:
    for node in graph.nodes:
        for name in node.inputs if isinstance(node.op, Concat) else ():
            if name in names:
                yield node.where, f"joins '{name}' where it lies, which was to be copied"


def no_joined_tables(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if (joined := _tabulated(graph, node)) is not None:
            yield node.where, f"looks up what {joined.where} joins"


TABLES_FIRST = Pass("tables before Concats", tables_first, ensures=no_joined_tables)
JOIN_IN_PLACE = Pass("join in place", run, ensures=all_joined)

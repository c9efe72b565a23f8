"""What several operators make of a tensor, made by one: where its results are those of nodes in different places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass


@dataclass(frozen=True)
class JointOp:
    """An operator of a tensor, and the nodes whose tensors are its results, in their order."""

    op: Op
    x: str
    nodes: tuple[Node, ...]


Find = Callable[[Graph, Node], JointOp | None]
"""From a node to the whole of which it is the first result."""


def at_once(title: str, complaint: str, find: Find) -> Pass:
    """The operator stands where the first of its results was made, if its operand is there by then."""

    def run(graph: Graph) -> Graph:
        place = {node.key: i for i, node in enumerate(graph.nodes)}
        first = {min((node.key for node in one.nodes), key=place.__getitem__): one for one in _all(graph, find)}
        replaced = {node.key for one in first.values() for node in one.nodes}

        def replace(node: Node, builder: Builder) -> Mapping[str, str] | None:
            if node.key not in replaced:
                return None
            if (one := first.get(node.key)) is not None:
                builder.add(one.op, [one.x], [result.key for result in one.nodes], one.nodes[0].name)
            return {node.key: node.key}

        return rewrite(graph, replace)

    def ensures(graph: Graph) -> Iterator[Complaint]:
        for one in _all(graph, find):
            yield one.nodes[0].where, complaint

    return Pass(title, run, ensures=ensures)


def _all(graph: Graph, find: Find) -> Iterator[JointOp]:
    place = {key: i for i, node in enumerate(graph.nodes) for key in node.outputs}
    for node in graph.nodes:
        one = find(graph, node)
        if one is not None and place.get(one.x, -1) < min(place[result.key] for result in one.nodes):
            yield one

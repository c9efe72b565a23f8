"""Which tensor owns the bytes of which, and the steps between which they are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright import choosing
from tilewright.allocation import home_of, in_place_owners, view_owners
from tilewright.grid import Inside
from tilewright.ir import Graph, Node
from tilewright.ops.concat import Concat
from tilewright.passes.join_in_place import is_joined
from tilewright.rooms import rounded


def steps_of(graph: Graph) -> list[Node]:
    """The nodes that have something to do."""
    return [node for node in graph.nodes if not node.op.view and not is_joined(graph, node)]


def insides(graph: Graph) -> dict[str, Inside]:
    """Operands of Concats are made where the Concat has them: nothing is left for it to do."""
    found = {}
    for node in graph.nodes:
        if is_joined(graph, node):
            assert isinstance(node.op, Concat)
            at = 0
            for name in node.inputs:
                found[name] = Inside(graph.types[node.key].shape, node.op.axis, at)
                at += graph.types[name].shape[node.op.axis]
    return found


def all_owners(graph: Graph, inside: Mapping[str, Inside]) -> dict[str, str]:
    """Views, results in the place of operands, and operands of Concats inside their results."""
    owners = in_place_owners(graph, view_owners(graph), inside)
    for node in graph.nodes:
        if is_joined(graph, node):
            owners |= dict.fromkeys(node.inputs, owners[node.key])
    return owners


def lifetimes(graph: Graph, nodes: Sequence[Node], owners: Mapping[str, str]) -> list[choosing.Tensor]:
    """Activations that own their bytes, with the first and last step that uses them."""
    spans: dict[str, tuple[int, int]] = {}
    for step, node in enumerate(nodes):
        for name in filter(None, (*node.inputs, *node.outputs)):
            first, _ = spans.get(owners[name], (step, step))
            spans[owners[name]] = first, step
    return [
        choosing.Tensor(owner, rounded(graph.types[owner].bytes), first, last)
        for owner, (first, last) in spans.items()
        if home_of(graph, owner) == "arena"
    ]

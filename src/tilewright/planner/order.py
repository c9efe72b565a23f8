"""The order of nodes in which accelerators have work while cores compute something else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.ir.graph import Graph, Node
from tilewright.ops.identity import Identity
from tilewright.target.mapping import Mapped

MOST_PASSED = 3
"""How many computed nodes another one may be moved before."""


def interleaved(mapped: Mapped) -> Mapped:
    """Nodes that an accelerator could compute come before independent ones that cores have to."""
    order: list[Node] = []
    for node in mapped.graph.nodes:
        at = _earliest(mapped, order, node) if _offloadable(mapped, node) else len(order)
        order.insert(at, node)
    nodes = _copied_meanwhile(mapped.graph, order)
    return replace(mapped, graph=replace(mapped.graph, nodes=tuple(nodes)))


def _copied_meanwhile(graph: Graph, order: Sequence[Node]) -> list[Node]:
    """Copies of what the network makes for its caller come behind the first node that reads the same: they begin when
    that does."""
    copies = [node for node in order if isinstance(node.op, Identity) and node.key in graph.outputs]
    found = [node for node in order if node not in copies]
    for copy in copies:
        found.insert(_behind_reader(found, copy.inputs[0]), copy)
    return found


def _behind_reader(order: Sequence[Node], source: str) -> int:
    """The place behind the first node that computes something from a tensor, or that makes it where nobody does."""
    names, at = {source}, 0
    for position, node in enumerate(order):
        reads = not names.isdisjoint(node.inputs)
        if reads and not node.op.view:
            return position + 1
        if reads:
            names.update(node.outputs)
        if source in node.outputs:
            at = position + 1
    return at


def _offloadable(mapped: Mapped, node: Node) -> bool:
    return node.key in mapped.choices and any(choice.kernel.offloaded for choice in mapped.all_choices(node))


def _earliest(mapped: Mapped, order: Sequence[Node], node: Node) -> int:
    """Before the first of the cores' nodes that it does not need, if there is one a few nodes before."""
    needed, at, passed = set(node.inputs), len(order), 0
    for position in reversed(range(len(order))):
        before = order[position]
        if needed & set(before.outputs) or passed == MOST_PASSED:
            break
        if before.key in mapped.choices:
            passed += 1
            if not _offloadable(mapped, before):
                at = position
    return at

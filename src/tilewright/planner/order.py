"""The order of nodes in which accelerators have work while cores compute something else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.ir.graph import Graph, Node
from tilewright.ops.identity import Identity
from tilewright.passes.aliasing import view_owners
from tilewright.target.mapping import Mapped

MOST_PASSED = 3
"""How many computed nodes another one may be moved before."""


def interleaved(mapped: Mapped) -> Mapped:
    """Nodes that an accelerator could compute come before independent ones that cores have to."""
    order: list[Node] = []
    kept = _States.of(mapped.graph)
    for node in mapped.graph.nodes:
        at = _earliest(mapped, order, node, kept) if _offloadable(mapped, node) else len(order)
        order.insert(at, node)
    nodes = _copied_meanwhile(mapped.graph, order, kept)
    return replace(mapped, graph=replace(mapped.graph, nodes=tuple(nodes)))


@dataclass(frozen=True)
class _States:
    """Who reads the values that states have when a call begins, and who writes over them."""

    owners: Mapping[str, str]
    befores: frozenset[str]

    @staticmethod
    def of(graph: Graph) -> _States:
        return _States(view_owners(graph), frozenset(state.before for state in graph.states))

    def touched(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(self.owners[name] for name in names if name) & self.befores

    def overwrites(self, node: Node, earlier: Node) -> bool:
        """Whether a node writes over what an earlier one reads."""
        return bool(self.befores) and not self.touched(node.outputs).isdisjoint(self.touched(earlier.inputs))


def _copied_meanwhile(graph: Graph, order: Sequence[Node], kept: _States) -> list[Node]:
    """Copies of what the network makes for its caller come behind the first node that reads the same: they begin when
    that does."""
    copies = [node for node in order if isinstance(node.op, Identity) and node.key in graph.outputs]
    copies = [node for node in copies if not kept.touched(node.inputs)]
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


def _earliest(mapped: Mapped, order: Sequence[Node], node: Node, kept: _States) -> int:
    """Before the first of the cores' nodes that it does not need, if there is one a few nodes before."""
    needed, at, passed = set(node.inputs), len(order), 0
    for position in reversed(range(len(order))):
        before = order[position]
        if needed & set(before.outputs) or passed == MOST_PASSED or kept.overwrites(node, before):
            break
        if before.key in mapped.choices:
            passed += 1
            if not _offloadable(mapped, before):
                at = position
    return at

"""The order of nodes in which accelerators have work while cores compute something else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tilewright.ir.graph import Graph, Node
from tilewright.ops.identity import Identity
from tilewright.passes.aliasing import view_owners
from tilewright.records import dataclass
from tilewright.target.mapping import Mapped

MOST_PASSED = 3
"""How many computed nodes another one may be moved before."""
MOST_IN_A_ROW = 2
"""Independent nodes that an accelerator is given one after the other: one that it computes, and one that waits."""


def interleaved(mapped: Mapped) -> Mapped:
    """Nodes that an accelerator could compute come before independent ones that cores have to."""
    order: list[Node] = []
    kept = _States.of(mapped.graph)
    for node in mapped.graph.nodes:
        at = _earliest(mapped, order, node, kept) if _offloadable(mapped, node) else len(order)
        order.insert(at, node)
    nodes = _copied_meanwhile(mapped.graph, _in_turns(mapped, order, kept), kept)
    return replace(mapped, graph=replace(mapped.graph, nodes=tuple(nodes)))


def _in_turns(mapped: Mapped, order: Sequence[Node], kept: _States) -> list[Node]:
    """More nodes for accelerators than they have at once come behind the next one of the cores, which can begin."""
    found, row, position = list(order), list[Node](), 0
    while position < len(found):
        node = found[position]
        is_next = _offloadable(mapped, node) and not any(kept.needs(node, one) for one in row)
        behind = _next_of_cores(mapped, found, position, kept) if is_next and len(row) == MOST_IN_A_ROW else None
        if behind is not None:
            passed = found[position : behind + 1]
            found[position : behind + 1] = sorted(passed, key=lambda one: one is node or kept.needs(one, node))
            row = []
            continue
        if node.key in mapped.choices:
            row = [*row, node][-MOST_IN_A_ROW:] if _offloadable(mapped, node) else []
        position += 1
    return found


def _next_of_cores(mapped: Mapped, order: Sequence[Node], position: int, kept: _States) -> int | None:
    """Where the first computed node of the cores is behind one, if nothing in between but views needs that."""
    node, passed = order[position], 0
    for behind in range(position + 1, len(order)):
        other = order[behind]
        if other.key not in mapped.choices:
            continue
        if kept.needs(other, node) or kept.overwrites(other, node) or passed == MOST_PASSED:
            return None
        passed += 1
        if not _offloadable(mapped, other):
            return behind
    return None


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

    def needs(self, node: Node, earlier: Node) -> bool:
        """Whether a node reads what an earlier one makes."""
        made = {self.owners[name] for name in earlier.outputs if name}
        return any(self.owners[name] in made for name in node.inputs if name)

    def overwrites(self, node: Node, earlier: Node) -> bool:
        """Whether a node writes over what an earlier one reads."""
        return bool(self.befores) and not self.touched(node.outputs).isdisjoint(self.touched(earlier.inputs))


def _copied_meanwhile(graph: Graph, order: Sequence[Node], kept: _States) -> list[Node]:
    """Copies of what the network makes for its caller alone come behind the first node that reads the same: they begin
    when that does."""
    copies = [node for node in order if isinstance(node.op, Identity) and node.key in graph.outputs]
    copies = [node for node in copies if not kept.touched(node.inputs) and not graph.consumers.get(node.key)]
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

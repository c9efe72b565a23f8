"""Accelerators at work while cores compute something else: which nodes come earlier, and how long they may last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright import choosing
from tilewright.ir import Graph, Node
from tilewright.layers import Way
from tilewright.mapping import Mapped
from tilewright.ops.identity import Identity
from tilewright.target import Costs

AT_ONCE = 4
"""Layers that may have been handed over; runtime/offload.c knows as many."""

FARTHEST = 3
"""How many computed nodes another one may be moved before."""

MOVED_AHEAD = choosing.FARTHEST
"""How many steps before its own a copy may begin."""


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
    """Before the first of the cores' nodes that it does not need, if such a one is near."""
    needed, at, passed = set(node.inputs), len(order), 0
    for position in reversed(range(len(order))):
        before = order[position]
        if needed & set(before.outputs) or passed == FARTHEST:
            break
        if before.key in mapped.choices:
            passed += 1
            if not _offloadable(mapped, before):
                at = position
    return at


def lasting(ways: Sequence[Way], owners: Mapping[str, str], begun: Sequence[int]) -> list[int]:
    """For every layer, how many of the following ones may run before anyone waits for it. `begun` is the step in which
    each begins: what is moved does so before its own."""
    nodes = [way.node for way in ways]
    return [_independent(nodes, owners, number, begun) if way.can_last else 0 for number, way in enumerate(ways)]


def _independent(nodes: Sequence[Node], owners: Mapping[str, str], number: int, begun: Sequence[int]) -> int:
    """How many of the nodes behind one neither read its results nor write its operands."""
    made = {owners[name] for name in nodes[number].outputs if name}
    read = {owners[name] for name in nodes[number].inputs if name}
    most = min(AT_ONCE - 1, len(nodes) - 1 - number)
    for later in range(number + 1, min(number + AT_ONCE + MOVED_AHEAD, len(nodes))):
        reads = {owners[name] for name in nodes[later].inputs if name}
        writes = {owners[name] for name in nodes[later].outputs if name}
        if reads & made or writes & (read | made):
            most = min(most, begun[later] - number - 1)
    return most


def hideable(ways: Sequence[Sequence[Way]], owners: Mapping[str, str]) -> list[float]:
    """Of every layer, given the ways to run each: an accelerator's cycles during which cores have work of their own."""
    fastest = [min(group, key=lambda way: way.cycles) for group in ways]
    nodes = [way.node for way in fastest]
    left = [0.0 if way.mode == "offload" else way.cycles for way in fastest]
    found = []
    for number, way in enumerate(fastest):
        hidden = 0.0
        lasts = _independent(nodes, owners, number, range(len(nodes))) if way.engine_cycles else 0
        for later in range(number + 1, number + 1 + lasts):
            part = min(left[later], way.engine_cycles - hidden)
            left[later] -= part
            hidden += part
        found.append(hidden)
    return found


def hidden_cycles(ways: Sequence[Way], number: int, lasts: int, costs: Costs) -> float:
    """What cores have to do meanwhile hides as much of an accelerator's time, and nobody waits for the tile; but
    fetching for the next layer is not hidden any more."""
    later = ways[number + 1 : number + 1 + lasts]
    meanwhile = sum(way.cycles - way.engine_cycles for way in later)
    return min(ways[number].engine_cycles, meanwhile) + costs.tile - costs.fetch


def spent(ways: Sequence[Way], cycles: Sequence[float], lasts: Sequence[int], costs: Costs) -> list[int]:
    """What passes from layer to layer, given what each would take alone: an accelerator has one job after the other,
    and cores wait for it where they need it, or room in its queue. What is fetched for the next layer is hidden only
    where they wait."""
    now, free, found = 0.0, 0.0, []
    ends = [0.0] * len(ways)
    for number, (way, alone) in enumerate(zip(ways, cycles, strict=True)):
        begun = now
        now = max([now, *(ends[i] for i in range(number) if lasts[i] and i + lasts[i] + 1 == number)])
        now += alone - (max(way.engine_cycles, costs.fetch) + costs.tile if lasts[number] else way.engine_cycles)
        if way.fills_queue:
            now = max(now, free)
        if way.engine_cycles:
            free = ends[number] = max(now, free) + way.engine_cycles
            now = now + costs.fetch if lasts[number] else free
        found.append(round(now - begun))
    return found

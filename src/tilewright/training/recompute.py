"""Less RAM for a step: activations that are computed again where the way back needs them, instead of being kept.

The way forward is what the loss needs; all else is the way back. A tensor of the way forward that the way back reads is
kept, or computed again from those that are. Which ones, is chosen greedily: at the node where most bytes are alive, the
tensor that frees most bytes for the least work. The numbers stay the same to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from tilewright.ir.graph import Graph, Node
from tilewright.passes.aliasing import view_owners
from tilewright.passes.reorder import overwriting
from tilewright.records import dataclass


@dataclass(frozen=True)
class Choice:
    """Which tensors are computed again, and what that gives by an estimate without reordering."""

    again: frozenset[str]
    peak: int
    """Bytes of activations alive at once."""
    work: int
    """Multiplications and elements that are computed again."""
    forgets: bool = False
    """Whether a tensor that is computed again on the way to another one is not kept for its own readers, but computed
    once more for them."""


@dataclass(frozen=True)
class Activation:
    """A tensor of the way forward that the way back reads."""

    name: str
    bytes: int
    is_recomputed: bool


class Recomputing:
    """All that is known of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def forward(self) -> frozenset[str]:
        """The keys of nodes that the loss needs."""
        needed, found = {self.graph.outputs[0]}, set[str]()
        for node in reversed(self.graph.nodes):
            if needed.intersection(node.outputs):
                needed.update(filter(None, node.inputs))
                found.add(node.key)
        return frozenset(found)

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """Tensors of the way forward that the way back reads."""
        makers, found = self.graph.producers, dict[str, None]()
        for node in self.graph.nodes:
            if node.key not in self.forward:
                read = (name for name in node.inputs if name in makers and makers[name].key in self.forward)
                found |= dict.fromkeys(read)
        return tuple(found)

    def activations(self, again: frozenset[str]) -> tuple[Activation, ...]:
        """In the order in which they are made; views have no bytes of their own."""
        makers, types = self.graph.producers, self.graph.types
        own = (name for name in self.kept if not makers[name].op.view)
        return tuple(Activation(name, types[name].bytes, name in again) for name in own)

    def rewritten(self, again: frozenset[str], forgets: bool = False) -> Graph:
        """The graph with copies of nodes just before the way back reads what they make."""
        if not again:
            return self.graph
        return _Rewriting(self, again, forgets).graph()

    def choices(self) -> list[Choice]:
        """From all that is kept to as little as is found; each needs fewer bytes than the ones before."""
        found = list[Choice]()
        for choice in (*self._fewer(forgets=False), *self._fewer(forgets=True)):
            if not found or choice.peak < found[-1].peak:
                found.append(choice)
        return found

    def _fewer(self, forgets: bool) -> Iterator[Choice]:
        """One tensor fewer is kept each time."""
        again = frozenset[str]()
        while True:
            graph = self.rewritten(again, forgets)
            alive = _Alive(graph)
            yield Choice(again, alive.peak, self._more(graph), forgets)
            best = self._best(alive, again)
            if best is None:
                return
            again |= {best}

    @cached_property
    def work(self) -> int:
        """Of a step where nothing is computed again."""
        return sum(_work(self.graph, node) for node in self.graph.nodes)

    def _more(self, graph: Graph) -> int:
        return sum(_work(graph, node) for node in graph.nodes) - self.work

    def _best(self, alive: _Alive, again: frozenset[str]) -> str | None:
        """The tensor that is computed again next."""
        waiting = [name for name in self.kept if name not in again and alive.waits(name)]
        sizes = {name: self.graph.types[name].bytes for name in waiting}
        prices = {name: 1 + self._price(name, again) for name in waiting}
        # Of equals, the one that waits longest: its neighbours are still there when it is computed again.
        return max(waiting, key=lambda name: (sizes[name] / prices[name], alive.span(name)), default=None)

    def _price(self, name: str, again: frozenset[str]) -> int:
        """What computing a tensor takes, from what is kept."""
        held, makers = set(self.kept) - again, self.graph.producers
        seen, open_, total = set[str](), [name], 0
        while open_:
            node = makers.get(open_.pop())
            if node is None or node.key in seen:
                continue
            seen.add(node.key)
            total += _work(self.graph, node)
            open_ += [one for one in node.inputs if one and one not in held]
        return total


def _work(graph: Graph, node: Node) -> int:
    return 0 if node.op.view else graph.macs(node) + graph.types[node.key].elements


class _Rewriting:
    def __init__(self, known: Recomputing, again: frozenset[str], forgets: bool) -> None:
        self.known, self.again, self.forgets = known, again, forgets
        self.source = known.graph
        self.held = set(known.kept) - again
        self.names: dict[str, str] = {}
        self.types = dict(self.source.types)
        self.nodes: list[Node] = []

    def graph(self) -> Graph:
        for node in self.source.nodes:
            if node.key not in self.known.forward:
                node = replace(node, inputs=tuple(self._again(name) for name in node.inputs))
            self.nodes.append(node)
        return replace(self.source, nodes=tuple(self.nodes), types=self.types)

    def _again(self, name: str) -> str:
        """What the way back reads in the place of a tensor; computed now, if it is not there yet."""
        if name not in self.again:
            return name
        before = dict(self.names)
        copy = self._copied(name)
        if self.forgets:
            self.names = before | {name: copy}
        return copy

    def _copied(self, name: str) -> str:
        """The copy of a tensor; a chain may be as long as the network, so that nothing calls itself here."""
        order, waiting = list[Node](), [name]
        while waiting:
            tensor = waiting.pop()
            node = self.source.producers.get(tensor)
            if node is None or tensor in self.names or tensor in self.held:
                continue
            order.append(node)
            waiting += [one for one in node.inputs if one]
        places = {node.key: at for at, node in enumerate(self.source.nodes)}
        for node in sorted({node.key: node for node in order}.values(), key=lambda node: places[node.key]):
            self._copy(node)
        return self.names[name]

    def _copy(self, node: Node) -> None:
        for tensor in filter(None, node.outputs):
            self.names[tensor] = self._fresh(f"{tensor}.again")
            self.types[self.names[tensor]] = self.source.types[tensor]
        inputs = tuple(self.names.get(name, name) if name not in self.held else name for name in node.inputs)
        outputs = tuple(self.names.get(name, "") for name in node.outputs)
        self.nodes.append(Node(f"{node.name}.again", node.op, inputs, outputs))

    def _fresh(self, hint: str) -> str:
        name, number = hint, 1
        while name in self.types:
            number += 1
            name = f"{hint}_{number}"
        return name


class _Alive:
    """Which tensors are alive at which node, where functions of elements overwrite what nobody else reads."""

    def __init__(self, graph: Graph) -> None:
        self.owners = overwriting(graph, view_owners(graph))
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        for place, node in enumerate(graph.nodes):
            for name in filter(None, node.inputs):
                self.last[self._owner(name)] = place
            for name in filter(None, node.outputs):
                self.first.setdefault(self._owner(name), place)
        for name in graph.sinks:
            self.last[self._owner(name)] = len(graph.nodes)
        self._measure(graph)

    def _owner(self, name: str) -> str:
        return self.owners.get(name, name)

    def _measure(self, graph: Graph) -> None:
        """Bytes of activations; sources and constants lie elsewhere, and new values of states in their place."""
        elsewhere = {self._owner(name) for name in (*graph.sources, *graph.constants, *(s.after for s in graph.states))}
        changes = [0] * (len(graph.nodes) + 2)
        for name, start in self.first.items():
            if name not in elsewhere:
                size = graph.types[name].bytes
                changes[start] += size
                changes[self.last.get(name, start) + 1] -= size
        self.peak, self.place, now = 0, 0, 0
        for place, change in enumerate(changes):
            now += change
            if now > self.peak:
                self.peak, self.place = now, place

    def span(self, name: str) -> int:
        """Over how many nodes a tensor is alive."""
        owner = self._owner(name)
        return self.last.get(owner, 0) - self.first.get(owner, 0)

    def waits(self, name: str) -> bool:
        """Whether a tensor is alive at the peak, and made before and read after it."""
        owner = self._owner(name)
        return self.first.get(owner, self.place) < self.place < self.last.get(owner, self.place)

"""Give every state bytes of its own, in which the new value takes the place of the old one.

A node may make the new value there once nobody reads the old one any more, or element by element. Where no order of
the nodes allows that, or others own the bytes, the value is made elsewhere and copied there.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial

from tilewright.ir.graph import Graph, Node, State, rebuild
from tilewright.ops.concat import Concat
from tilewright.ops.identity import Identity
from tilewright.passes import Complaint, Pass
from tilewright.records import dataclass

MOST_COPIES = 2
"""A copy of a copy is made of nothing that a state could be made in the place of."""


def separate_states(joins: bool) -> Pass:
    """`joins`: whether operands of Concats are made in their results, long before a Concat's turn."""
    return Pass("separate states", partial(run, joins=joins), ensures=partial(in_place, joins=joins))


def run(graph: Graph, joins: bool) -> Graph:
    """The same graph where nothing has to be copied or moved."""
    facts = _Facts(graph)
    for number in range(len(graph.states)):
        for _ in range(MOST_COPIES):
            if not _obstacle(_Settled(facts, number), facts.graph.states[number], joins):
                break
            facts = _Facts(_with_copy(facts.graph, facts.graph.states[number]))
    return _ordered(_Settled(facts, len(graph.states)))


@dataclass(frozen=True)
class _Facts:
    """Who reads and who makes the values of states."""

    graph: Graph

    @cached_property
    def owners(self) -> dict[str, str]:
        """Tensor -> the one whose bytes it has."""
        owners = {name: name for name in self.graph.types}
        for node in self.graph.nodes:
            if node.op.view:
                owners[node.outputs[0]] = owners[node.inputs[0]]
        return owners

    @cached_property
    def readers(self) -> dict[str, list[Node]]:
        """Old value -> the nodes that read it."""
        found: dict[str, list[Node]] = {state.before: [] for state in self.graph.states}
        for node in self.graph.nodes:
            read = {} if node.op.view else dict.fromkeys(self.owners[name] for name in node.inputs if name)
            for owner in read:
                if owner in found:
                    found[owner].append(node)
        return found

    def writer(self, state: State) -> Node | None:
        """The node that makes the new value; None where that is the old one."""
        return self.graph.producers.get(self.owners[state.after])


@dataclass(frozen=True)
class _Settled:
    """A graph of which some states, the first ones, are known to be made in place."""

    facts: _Facts
    count: int

    @cached_property
    def before(self) -> dict[str, set[str]]:
        """Node -> those that must come before it, by their keys: who makes what it reads, and who reads the old value
        of a state that it makes."""
        graph = self.facts.graph
        makers = graph.producers
        found = {n.key: {makers[name].key for name in n.inputs if name in makers} for n in graph.nodes}
        for state in graph.states[: self.count]:
            writer = self.facts.writer(state)
            if writer is not None:
                found[writer.key] |= {reader.key for reader in self.facts.readers[state.before]} - {writer.key}
        return found

    def needs(self, node: Node, other: Node) -> bool:
        """Whether a node cannot come before another one."""
        waiting, seen = [node.key], {node.key}
        while waiting:
            for key in self.before[waiting.pop()] - seen:
                seen.add(key)
                waiting.append(key)
        return other.key in seen


def _obstacle(settled: _Settled, state: State, joins: bool) -> str:
    """Why the new value cannot be made in the place of the old one; empty where it can."""
    facts, owner = settled.facts, settled.facts.owners[state.after]
    if owner == state.before:
        return ""
    writer, readers = facts.writer(state), facts.readers[state.before]
    if writer is None or sum(facts.owners[name] == owner for name in facts.graph.sinks) > 1:
        return f"'{owner}' is somebody else's"
    if joins and isinstance(writer.op, Concat):
        return f"the operands of {writer.where} are made long before it"
    if writer in readers and not _is_in_place(facts, writer, state):
        return f"{writer.where} still reads the old value"
    late = next((node for node in readers if node != writer and settled.needs(node, writer)), None)
    return "" if late is None else f"{late.where} reads the old value, but comes after {writer.where}"


def _is_in_place(facts: _Facts, writer: Node, state: State) -> bool:
    """Whether a node that reads the old value can write the new one over it: element by element, or as the operand
    that the result takes the place of."""
    types, made = facts.graph.types, facts.owners[state.after]
    read = {operand: name for operand, name in writer.operands().items() if facts.owners[name] == state.before}
    if {types[name] for name in read.values()} != {types[made]}:
        return False
    results = writer.results()
    if writer.op.elementwise and len(results) == 1:
        return True
    return read.keys() == {writer.op.overwrites.get(result) for result, name in results.items() if name == made}


def _with_copy(graph: Graph, state: State) -> Graph:
    builder = rebuild(graph)
    for node in graph.nodes:
        builder.add(node.op, node.inputs, node.outputs, node.name)
    builder.copy_outputs(graph)
    (copy,) = builder.add(Identity(copy=True), [state.after], name=f"state {state.name}")
    builder.set_next_state(state.name, copy)
    return builder.build()


def _ordered(settled: _Settled) -> Graph:
    """The nodes in an order that suits the states, and as they were where that is one."""
    graph, before = settled.facts.graph, settled.before
    places = {node.key: place for place, node in enumerate(graph.nodes)}
    if all(places[earlier] < places[key] for key, earliers in before.items() for earlier in earliers):
        return graph
    after: dict[str, list[str]] = {node.key: [] for node in graph.nodes}
    for key, earliers in before.items():
        for earlier in earliers:
            after[earlier].append(key)
    left = {key: len(earliers) for key, earliers in before.items()}
    ready = [places[key] for key, count in left.items() if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        order.append(graph.nodes[heapq.heappop(ready)])
        for key in after[order[-1].key]:
            left[key] -= 1
            if not left[key]:
                heapq.heappush(ready, places[key])
    return replace(graph, nodes=tuple(order))


def in_place(graph: Graph, joins: bool) -> Iterator[Complaint]:
    """Every state can be made in its bytes, with the nodes in this order."""
    facts = _Facts(graph)
    places = {node.key: place for place, node in enumerate(graph.nodes)}
    for number, state in enumerate(graph.states):
        if obstacle := _obstacle(_Settled(facts, number), state, joins):
            yield f"state '{state.name}'", obstacle
        writer = facts.writer(state)
        for reader in facts.readers[state.before]:
            if writer is not None and places[reader.key] > places[writer.key]:
                yield reader.where, f"reads state '{state.name}' after {writer.where} has written over it"

"""Copies between the memory that cores work in and those of engines that have one of their own, as layers.

The caller's inputs and outputs are where the cores are; constants are in both. Everything else is where it is made, and
is copied once for those who read it elsewhere. A state is kept where all layers are that read and write it, and where
the cores are if these are in several places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import TypeVar

from tilewright.errors import present
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import TensorType
from tilewright.passes.aliasing import Owners, home_of, view_owners
from tilewright.planner.arena.side_by_side import CORES as OF_CORES
from tilewright.planner.arena.side_by_side import ENGINE as OF_ENGINE
from tilewright.planner.arena.side_by_side import Layer, in_order
from tilewright.records import dataclass
from tilewright.target.mapping import Choice, Mapped, as_chosen
from tilewright.target.target import Engine

Found = TypeVar("Found")
Place = str
"""The name of an engine with a memory of its own; empty for that of the cores."""
CORES: Place = ""


def with_transfers(mapped: Mapped) -> Mapped:
    """The graph with a layer for every copy; where all engines work in one memory it stays as it is."""
    if all(engine.transfers is None for engine in mapped.target.engines):
        return mapped
    chosen = _in_order(as_chosen(mapped))
    owners = view_owners(chosen.graph)
    made = _Transfers(chosen, owners, _kept(chosen, owners))
    for node in chosen.graph.nodes:
        made.add(node)
        made.send_back(node)
    graph = replace(chosen.graph, nodes=tuple(made.nodes), types={**chosen.graph.types, **made.types})
    others = {key: _elsewhere(found, made.choices[key]) for key, found in made.renamed(mapped.alternatives).items()}
    refusals, estimates = made.renamed(mapped.refusals), made.renamed(mapped.estimates)
    return replace(
        chosen, graph=graph, choices=made.choices, refusals=refusals, alternatives=others, estimates=estimates
    )


def _in_order(mapped: Mapped) -> Mapped:
    """With layers of engines as early as they can be, so that cores work meanwhile. With states the order stays: their
    old values are read before they are written."""
    graph = mapped.graph
    numbers = {name: number for number, name in enumerate(graph.types)}
    layers, places = [], []
    for node in graph.nodes:
        reads, writes = (tuple(numbers[name] for name in names if name) for names in (node.inputs, node.outputs))
        layers.append(Layer(reads, writes, (0.0, 0.0), node.op.view))
        on_cores = node.op.view or _place(mapped.choice(node).engine) == CORES
        places.append(OF_CORES if on_cores else OF_ENGINE)
    if graph.states or OF_ENGINE not in places:
        return mapped
    nodes = tuple(graph.nodes[number] for number in in_order(layers, places))
    return replace(mapped, graph=replace(graph, nodes=nodes))


def _kept(mapped: Mapped, owners: Owners) -> dict[str, Place]:
    """States, by the tensors that they are when a call begins -> where they are kept."""
    users: dict[str, set[Place]] = {state.before: set() for state in mapped.graph.states}
    for node in mapped.graph.nodes:
        if not node.op.view:
            place = _place(mapped.choice(node).engine)
            for name in filter(None, (*node.inputs, *node.outputs)):
                users.get(owners[name], set()).add(place)
    return {name: next(iter(places)) if len(places) == 1 else CORES for name, places in users.items()}


def _elsewhere(alternatives: tuple[Choice, ...], chosen: Choice) -> tuple[Choice, ...]:
    """Those of other engines."""
    return tuple(choice for choice in alternatives if choice.engine is not chosen.engine)


@dataclass
class _Transfers:
    mapped: Mapped
    owners: Owners
    kept: Mapping[str, Place]
    nodes: list[Node] = field(default_factory=list)
    types: dict[str, TensorType] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    copies: dict[tuple[str, Place], str] = field(default_factory=dict)
    """Tensor and place -> what it is called there."""
    keys: dict[str, str] = field(default_factory=dict)
    """Of nodes whose results are made elsewhere: the key that they have -> the one that they had."""

    @property
    def graph(self) -> Graph:
        return self.mapped.graph

    def add(self, node: Node) -> None:
        if node.op.view:
            self.nodes.append(node)
            return
        choice = self.mapped.choice(node)
        place = _place(choice.engine)
        inputs = tuple(self._brought(name, node, place) for name in node.inputs)
        outputs = tuple(self._made(name, place) for name in node.outputs)
        changed = replace(node, inputs=inputs, outputs=outputs)
        self._append(changed, replace(choice, node=changed))
        self.keys[changed.key] = node.key
        for name, own in zip(node.outputs, outputs, strict=True):
            if name != own:
                self._copy(own, name, node, place, into=False)

    def send_back(self, node: Node) -> None:
        """Copies of what a node has made, for cores: they are under way while the engine goes on."""
        for name in node.outputs:
            if name in self.wanted and self._lies(name) != CORES:
                self._brought(name, node, CORES)

    @cached_property
    def wanted(self) -> frozenset[str]:
        """What cores read."""
        cores = [node for node in self.graph.nodes if not node.op.view and self._is_of_cores(node)]
        return frozenset(name for node in cores for name in node.inputs if name)

    def _is_of_cores(self, node: Node) -> bool:
        return _place(self.mapped.choice(node).engine) == CORES

    def renamed(self, found: Mapping[str, Found]) -> dict[str, Found]:
        """What is known of nodes, by the keys that they have now."""
        return {key: found[old] for key, old in self.keys.items() if old in found}

    def _append(self, node: Node, choice: Choice) -> None:
        self.nodes.append(node)
        self.choices[node.key] = choice

    def _brought(self, name: str, reader: Node, place: Place) -> str:
        """What a tensor is called where a node reads it."""
        lies = self._lies(name)
        if not name or name in self.graph.constants or self.owners[name] in self.graph.constants or lies == place:
            return name
        if (name, place) not in self.copies:
            other = place or lies
            self._copy(name, self._fresh(name, place), reader, other, into=bool(place))
        return self.copies[name, place]

    def _made(self, name: str, place: Place) -> str:
        """What a result is called where a node makes it: another tensor, where its own is the caller's."""
        if not name or not place or self._lies(name) == place:
            return name
        own = self._fresh(name, place)
        self.copies[name, place] = own
        return own

    def _copy(self, source: str, result: str, near: Node, place: Place, into: bool) -> None:
        engine = next(one for one in self.mapped.target.engines if one.name == place)
        transfers = present(engine.transfers, near.where, f"{place} has no memory of its own")
        kernel = transfers.into if into else transfers.out_of
        node = Node(near.name, kernel.op(), (source,), (result,))
        if result not in self.graph.types:
            self.copies[source, place if into else ""] = result
        self._append(node, Choice(engine, kernel, node))

    def _fresh(self, name: str, place: Place) -> str:
        found = f"{name}/{place or 'cores'}"
        while found in self.graph.types or found in self.types:
            found += "_"
        self.types[found] = self.graph.types[name]
        return found

    def _lies(self, name: str) -> Place:
        """Where a tensor of the graph lies."""
        owner = self.owners[name] if name else name
        if owner in self.kept:
            return self.kept[owner]
        if not name or home_of(self.graph, owner) != "arena":
            return CORES
        while (maker := self.graph.producers[name]).op.view:
            name = maker.inputs[0]
            if name not in self.graph.producers:
                return CORES
        return _place(self.mapped.choice(maker).engine)


def _place(engine: Engine) -> Place:
    return engine.name if engine.transfers is not None else CORES

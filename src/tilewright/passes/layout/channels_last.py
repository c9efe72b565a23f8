"""Convolutions and pools get channels as the last axis, and as few bytes as possible are transposed for that.

Convolutions and pools are bound to channels last, inputs, outputs and most other operators to the layout that they
have. What works element by element, or names its axes, may go either way, and so may what is kept between calls: which
way each of them goes is the cheapest cut between the two, where the price of a tensor that is wanted in both layouts is
its bytes. Transposes between the two that a model has are such prices, too. The same for channels as the second axis is
channels_second.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node, State, rebuild
from tilewright.ir.types import Shape
from tilewright.ir.unused import drop_unused
from tilewright.ops._windows import Windowed
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.layout.min_cut import FORBIDDEN, Vertex, min_cut
from tilewright.passes.layout.permuting import Moved, Perm, inverse, moves_nothing, on_permuted_axes, windowed_operands
from tilewright.passes.layout.simplify_transposes import SIMPLIFY_TRANSPOSES, takes_rows_in_any_order
from tilewright.records import dataclass

WANTED, GIVEN = "as wanted", "as given"
Forms = Mapping[str, Moved]
"""What each node that may have the wanted layout is then, by its key."""


@dataclass(frozen=True)
class ChannelPosition:
    """Where channels are wanted."""

    channels_last: bool
    worth: Callable[[Graph, Node], int]
    """What a convolution or pool in the other layout may cost to move, in bytes to transpose."""
    keeps: Callable[[Graph, Node], int] = lambda graph, node: 0
    """What is lost with one that moves although it is worth nothing there, in bytes as well."""
    together: Callable[[Graph], Mapping[str, int]] = lambda graph: {}
    """Tensors -> what is lost where the one that makes them and the one that reads them have different layouts."""

    def perm(self, rank: int) -> Perm:
        """From the other layout to this one; tensors without channels have but one."""
        if rank < 2:
            return tuple(range(rank))
        return (0, *range(2, rank), 1) if self.channels_last else (0, rank - 1, *range(1, rank - 1))

    def lacks(self, node: Node) -> bool:
        return isinstance(node.op, Windowed) and node.op.channels_last != self.channels_last


def with_layout(layout: ChannelPosition, graph: Graph) -> Graph:
    """The graph in which what is worth it has this layout; the same graph if nothing is."""
    forms = {node.key: form for node in graph.nodes if (form := _form(layout, graph, node)) is not None}
    if not any(_worth(layout, graph, node) for node in graph.nodes):
        return graph
    chosen = min_cut(_prices(layout, graph, forms), WANTED, GIVEN)
    states = frozenset(state.name for state in graph.states if _state(graph, state) in chosen)
    taken = {key: forms[key] for key in forms if key in chosen}
    return SIMPLIFY_TRANSPOSES.run(_Layouts(layout, graph, taken, states).rewritten())


# ---- choice -------------------------------------------------------------------------------------------------------


def _worth(layout: ChannelPosition, graph: Graph, node: Node) -> int:
    return layout.worth(graph, node) if layout.lacks(node) else 0


def _form(layout: ChannelPosition, graph: Graph, node: Node) -> Moved | None:
    if isinstance(node.op, Windowed):
        other = Moved(replace(node.op, channels_last=layout.channels_last), windowed_operands(node.op))
        return other if layout.lacks(node) else None
    shapes = [graph.types[name].shape if name else () for name in node.inputs]
    rank = max(map(len, shapes), default=0)
    if rank not in (3, 4) or len(node.outputs) != 1:
        return None
    return on_permuted_axes(node.op, layout.perm(rank), shapes)


def _prices(layout: ChannelPosition, graph: Graph, forms: Forms) -> dict[tuple[Vertex, Vertex], int]:
    """The capacities of the cut: what is on the side of WANTED has that layout."""
    bound = [(node.key, _worth(layout, graph, node)) for node in graph.nodes]
    prices: dict[tuple[Vertex, Vertex], int] = {(WANTED, key): worth for key, worth in bound if worth}
    for node in graph.nodes:
        if layout.lacks(node) and (lost := layout.keeps(graph, node)):
            prices[node.key, GIVEN] = lost
    together = layout.together(graph)
    for tensor in {*graph.sources, *graph.producers}:
        made = _maker(layout, graph, forms, tensor)
        readers = {
            vertex
            for node in graph.consumers.get(tensor, ())
            for vertex in _readers(layout, graph, forms, node, tensor)
        }
        readers |= {GIVEN} if tensor in graph.outputs else set()
        readers |= {_state(graph, state) for state in graph.states if state.after == tensor}
        price = _price(layout, graph, tensor, len(graph.types[tensor].shape))
        price += together.get(tensor, 0) if price else 0
        for reader in readers:
            prices[reader, (WANTED, tensor)] = prices[(GIVEN, tensor), reader] = FORBIDDEN
        if readers:
            prices[(WANTED, tensor), made] = prices[made, (GIVEN, tensor)] = price
    for node in graph.nodes:
        for tensor, rank in _broadcast(graph, forms, node).items():
            prices[node.key, GIVEN] = prices.get((node.key, GIVEN), 0) + _price(layout, graph, tensor, rank)
    return prices


def _maker(layout: ChannelPosition, graph: Graph, forms: Forms, tensor: str) -> Vertex:
    """What decides in which layout a tensor is made. A Transpose from the wanted layout reads it in that already."""
    node = graph.producers.get(tensor)
    if node is not None and _transposes(node, inverse(layout.perm(len(graph.types[tensor].shape)))):
        return WANTED
    for state in graph.states:
        if state.before == tensor:
            return _state(graph, state)
    return node.key if node is not None and node.key in forms and forms[node.key].result else GIVEN


def _state(graph: Graph, state: State) -> Vertex:
    """What decides in which layout a state is kept, if nobody else sees it."""
    moves = len(graph.types[state.before].shape) in (3, 4) and not state.is_shared
    return ("state", state.name) if moves else GIVEN


def _readers(layout: ChannelPosition, graph: Graph, forms: Forms, node: Node, tensor: str) -> set[Vertex]:
    """What decides in which layout a node reads a tensor; nothing where either will do. A Transpose to the wanted
    layout has nothing to do where the tensor is in that."""
    if _becomes_rows(graph, node):
        return set()
    if _transposes(node, layout.perm(len(graph.types[tensor].shape))):
        return {WANTED}
    if node.key not in forms or tensor in _broadcast(graph, forms, node):
        return {GIVEN}
    permuted = forms[node.key].operands
    return {node.key if position in permuted else GIVEN for position, name in enumerate(node.inputs) if name == tensor}


def _transposes(node: Node, perm: Perm) -> bool:
    return isinstance(node.op, Transpose) and node.op.perm == perm


def _broadcast(graph: Graph, forms: Forms, node: Node) -> dict[str, int]:
    """Operands with fewer axes than the result that they are broadcast to; they always come as they are."""
    if node.key not in forms or isinstance(node.op, Windowed):
        return {}
    names = [node.inputs[position] for position in forms[node.key].operands]
    rank = max(len(graph.types[name].shape) for name in names)
    return {name: rank for name in names if name not in graph.constants and len(graph.types[name].shape) < rank}


def _price(layout: ChannelPosition, graph: Graph, tensor: str, rank: int) -> int:
    shape = _on_axes(graph.types[tensor].shape, rank)
    return 0 if rank < 3 or moves_nothing(layout.perm(rank), shape) else graph.types[tensor].bytes


def _becomes_rows(graph: Graph, node: Node) -> bool:
    """Whether images become rows of matrix products, whose weights can be brought into any order."""
    if not isinstance(node.op, Reshape) or node.key in graph.sinks:
        return False
    shape = graph.types[node.inputs[0]].shape
    whole_images = len(shape) in (3, 4) and node.op.shape[:-1] == shape[:1]
    readers = graph.consumers.get(node.key, ())
    return whole_images and all(takes_rows_in_any_order(graph, reader, node.key) for reader in readers)


def _on_axes(shape: Shape, rank: int) -> Shape:
    return (1,) * (rank - len(shape)) + shape


# ---- rewriting ----------------------------------------------------------------------------------------------------


@dataclass
class _Layouts:
    """Walks a graph into one in which some nodes have the wanted layout; each tensor is transposed at most once."""

    layout: ChannelPosition
    graph: Graph
    chosen: Forms
    states: frozenset[str] = frozenset()
    """Names of those that are kept in the wanted layout."""
    builder: Builder = field(init=False)
    others: dict[tuple[str, int], str] = field(default_factory=dict)
    """The tensor in the wanted layout, by the tensor's name before and the number of axes."""

    def rewritten(self) -> Graph:
        self.builder = rebuild(replace(self.graph, states=()))
        for state in self.graph.states:
            self._begin(state)
        for node in self.graph.nodes:
            self.builder.node_name = node.name
            self._add(node)
        self.builder.copy_outputs(replace(self.graph, states=()), self._given)
        for state in self.graph.states:
            rank = state.initial.ndim
            is_moved = state.name in self.states
            self.builder.set_next_state(
                state.name, self._wanted(state.after, rank) if is_moved else self._given(state.after)
            )
        return drop_unused(self.builder.build())

    def _begin(self, state: State) -> None:
        if state.name not in self.states:
            self.builder.state(state.name, state.initial, state.before, state.is_shared)
            return
        rank = state.initial.ndim
        moved = np.ascontiguousarray(state.initial.transpose(self.layout.perm(rank)))
        kept = self.builder.fresh(f"{state.before}_moved")
        self.others[state.before, rank] = self.builder.state(state.name, moved, kept)

    def _add(self, node: Node) -> None:
        form = self.chosen.get(node.key)
        if form is None:
            self.builder.add(node.op, [self._given(name) for name in node.inputs], node.outputs, node.name)
            return
        rank = max(len(self.graph.types[node.inputs[position]].shape) for position in form.operands)
        inputs = [
            self._wanted(name, rank) if position in form.operands else self._given(name)
            for position, name in enumerate(node.inputs)
        ]
        if form.result:
            self.others[node.key, rank] = self.builder.add(form.op, inputs, name=node.name)[0]
        else:
            self.builder.add(form.op, inputs, node.outputs, node.name)

    def _given(self, tensor: str) -> str:
        if tensor and tensor not in self.builder.types:
            rank = len(self.graph.types[tensor].shape)
            self._transposed(self.others[tensor, rank], inverse(self.layout.perm(rank)), tensor)
        return tensor

    def _wanted(self, tensor: str, rank: int) -> str:
        if (tensor, rank) not in self.others:
            self.others[tensor, rank] = self._made_wanted(tensor, rank)
        return self.others[tensor, rank]

    def _made_wanted(self, tensor: str, rank: int) -> str:
        if tensor in self.graph.constants:
            value = self.graph.constants[tensor]
            moved = value.reshape(_on_axes(value.shape, rank)).transpose(self.layout.perm(rank))
            return self.builder.constant(moved.copy(), tensor)
        source = self._given(tensor)
        shape = self.graph.types[tensor].shape
        if len(shape) < rank:
            (source,) = self.builder.add(Reshape(_on_axes(shape, rank)), [source])
        return self._transposed(source, self.layout.perm(rank))

    def _transposed(self, tensor: str, perm: Perm, result: str = "") -> str:
        op = Transpose(perm).simplest(self.builder.types[tensor].shape)
        return self.builder.add(op, [tensor], [result] if result else None)[0]


# ---- channels last ------------------------------------------------------------------------------------------------

LAST = ChannelPosition(channels_last=True, worth=lambda graph, node: FORBIDDEN)


def no_channels_second(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if LAST.lacks(node):
            yield node.where, "still has channels second"


def all_worth_it(layout: ChannelPosition, graph: Graph) -> Iterator[Complaint]:
    """No cut is the cheapest that leaves behind what saves more than all of its Transposes would cost."""
    together = layout.together(graph)
    for node in graph.nodes:
        if not (worth := _worth(layout, graph, node)):
            continue
        moved = [node.inputs[position] for position in windowed_operands(node.op)]
        tensors = [*(name for name in moved if name not in graph.constants), node.key]
        price = sum(_price(layout, graph, name, len(graph.types[name].shape)) for name in tensors)
        price += sum(together.get(name, 0) for name in tensors)
        if worth > price:
            yield node.where, f"would save {worth} in the other layout, for {price} bytes to transpose"


CHANNELS_LAST = Pass("channels last", partial(with_layout, LAST), ensures=no_channels_second)

"""Convolutions and pools get channels as the last axis, and as few bytes as possible are transposed for that.

Convolutions and pools are bound to channels last, inputs, outputs and most other operators to channels second. What
works element by element, or names its axes, may go either way, and so may what is kept between calls: which way each of
them goes is the cheapest cut between the two, where the price of a tensor that is wanted in both layouts is its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node, State, rebuild
from tilewright.ir.types import Shape
from tilewright.ops._windows import Windowed
from tilewright.ops.conv import Conv
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.layout.min_cut import FORBIDDEN, Vertex, min_cut
from tilewright.passes.layout.permuting import Moved, Perm, inverse, moves_nothing, on_permuted_axes
from tilewright.passes.layout.simplify_transposes import SIMPLIFY_TRANSPOSES, takes_rows_in_any_order
from tilewright.passes.rewriting import drop_unused

LAST, SECOND = "channels last", "channels second"
Forms = Mapping[str, Moved]
"""What each node that may have channels last is then, by its key."""


def run(graph: Graph) -> Graph:
    forms = {node.key: form for node in graph.nodes if (form := _channels_last(graph, node)) is not None}
    if not any(_is_bound(node) for node in graph.nodes):
        return graph
    chosen = min_cut(_prices(graph, forms), LAST, SECOND)
    states = frozenset(state.name for state in graph.states if _state(graph, state) in chosen)
    taken = {key: forms[key] for key in forms if key in chosen}
    return SIMPLIFY_TRANSPOSES.run(_Layouts(graph, taken, states).rewritten())


# ---- choice -------------------------------------------------------------------------------------------------------


def _is_bound(node: Node) -> bool:
    return isinstance(node.op, Windowed) and not node.op.channels_last


def _channels_last(graph: Graph, node: Node) -> Moved | None:
    if isinstance(node.op, Windowed):
        operands = (0, 1) if isinstance(node.op, Conv) else (0,)
        return Moved(replace(node.op, channels_last=True), operands) if _is_bound(node) else None
    shapes = [graph.types[name].shape if name else () for name in node.inputs]
    rank = max(map(len, shapes), default=0)
    if rank not in (3, 4) or len(node.outputs) != 1:
        return None
    return on_permuted_axes(node.op, _to_last(rank), shapes)


def _prices(graph: Graph, forms: Forms) -> dict[tuple[Vertex, Vertex], int]:
    """The capacities of the cut: what is on the side of LAST has channels last."""
    prices: dict[tuple[Vertex, Vertex], int] = {(LAST, n.key): FORBIDDEN for n in graph.nodes if _is_bound(n)}
    for tensor in {*graph.sources, *graph.producers}:
        made = _maker(graph, forms, tensor)
        readers = {
            vertex for node in graph.consumers.get(tensor, ()) for vertex in _readers(graph, forms, node, tensor)
        }
        readers |= {SECOND} if tensor in graph.outputs else set()
        readers |= {_state(graph, state) for state in graph.states if state.after == tensor}
        price = _price(graph, tensor, len(graph.types[tensor].shape))
        for reader in readers:
            prices[reader, ("last", tensor)] = prices[("second", tensor), reader] = FORBIDDEN
        if readers:
            prices[("last", tensor), made] = prices[made, ("second", tensor)] = price
    for node in graph.nodes:
        for tensor, rank in _broadcast(graph, forms, node).items():
            prices[node.key, SECOND] = prices.get((node.key, SECOND), 0) + _price(graph, tensor, rank)
    return prices


def _maker(graph: Graph, forms: Forms, tensor: str) -> Vertex:
    """What decides in which layout a tensor is made."""
    node = graph.producers.get(tensor)
    for state in graph.states:
        if state.before == tensor:
            return _state(graph, state)
    return node.key if node is not None and node.key in forms and forms[node.key].result else SECOND


def _state(graph: Graph, state: State) -> Vertex:
    """What decides in which layout a state is kept: nobody else sees it."""
    return ("state", state.name) if len(graph.types[state.before].shape) in (3, 4) else SECOND


def _readers(graph: Graph, forms: Forms, node: Node, tensor: str) -> set[Vertex]:
    """What decides in which layout a node reads a tensor; nothing where either will do."""
    if _becomes_rows(graph, node):
        return set()
    if node.key not in forms or tensor in _broadcast(graph, forms, node):
        return {SECOND}
    permuted = forms[node.key].operands
    return {node.key if position in permuted else SECOND for position, name in enumerate(node.inputs) if name == tensor}


def _broadcast(graph: Graph, forms: Forms, node: Node) -> dict[str, int]:
    """Operands with fewer axes than the result that they are broadcast to; they always come as they are."""
    if node.key not in forms or isinstance(node.op, Windowed):
        return {}
    names = [node.inputs[position] for position in forms[node.key].operands]
    rank = max(len(graph.types[name].shape) for name in names)
    return {name: rank for name in names if name not in graph.constants and len(graph.types[name].shape) < rank}


def _price(graph: Graph, tensor: str, rank: int) -> int:
    shape = _on_axes(graph.types[tensor].shape, rank)
    return 0 if rank < 3 or moves_nothing(_to_last(rank), shape) else graph.types[tensor].bytes


def _becomes_rows(graph: Graph, node: Node) -> bool:
    """Whether images become rows of matrix products, whose weights can be brought into any order."""
    if not isinstance(node.op, Reshape) or node.key in graph.sinks:
        return False
    shape = graph.types[node.inputs[0]].shape
    whole_images = len(shape) in (3, 4) and node.op.shape[:-1] == shape[:1]
    readers = graph.consumers.get(node.key, ())
    return whole_images and all(takes_rows_in_any_order(graph, reader, node.key) for reader in readers)


def _to_last(rank: int) -> Perm:
    return (0, *range(2, rank), 1)


def _on_axes(shape: Shape, rank: int) -> Shape:
    return (1,) * (rank - len(shape)) + shape


# ---- rewriting ----------------------------------------------------------------------------------------------------


@dataclass
class _Layouts:
    """Walks a graph into one in which some nodes have channels last; each tensor is transposed at most once."""

    graph: Graph
    chosen: Forms
    states: frozenset[str] = frozenset()
    """Names of those that are kept with channels last."""
    builder: Builder = field(init=False)
    lasts: dict[tuple[str, int], str] = field(default_factory=dict)
    """The tensor with channels last, by the tensor's name before and the number of axes."""

    def rewritten(self) -> Graph:
        self.builder = rebuild(replace(self.graph, states=()))
        for state in self.graph.states:
            self._begin(state)
        for node in self.graph.nodes:
            self.builder.node_name = node.name
            self._add(node)
        self.builder.ends_like(replace(self.graph, states=()), self._second)
        for state in self.graph.states:
            rank = state.initial.ndim
            last = state.name in self.states
            self.builder.becomes(state.name, self._last(state.after, rank) if last else self._second(state.after))
        return drop_unused(self.builder.build())

    def _begin(self, state: State) -> None:
        if state.name not in self.states:
            self.builder.state(state.name, state.initial, state.before)
            return
        rank = state.initial.ndim
        moved = np.ascontiguousarray(state.initial.transpose(_to_last(rank)))
        kept = self.builder.fresh(f"{state.before}_last")
        self.lasts[state.before, rank] = self.builder.state(state.name, moved, kept)

    def _add(self, node: Node) -> None:
        form = self.chosen.get(node.key)
        if form is None:
            self.builder.add(node.op, [self._second(name) for name in node.inputs], node.outputs, node.name)
            return
        rank = max(len(self.graph.types[node.inputs[position]].shape) for position in form.operands)
        inputs = [
            self._last(name, rank) if position in form.operands else self._second(name)
            for position, name in enumerate(node.inputs)
        ]
        if form.result:
            self.lasts[node.key, rank] = self.builder.add(form.op, inputs, name=node.name)[0]
        else:
            self.builder.add(form.op, inputs, node.outputs, node.name)

    def _second(self, tensor: str) -> str:
        if tensor and tensor not in self.builder.types:
            rank = len(self.graph.types[tensor].shape)
            self._transposed(self.lasts[tensor, rank], inverse(_to_last(rank)), tensor)
        return tensor

    def _last(self, tensor: str, rank: int) -> str:
        if (tensor, rank) not in self.lasts:
            self.lasts[tensor, rank] = self._made_last(tensor, rank)
        return self.lasts[tensor, rank]

    def _made_last(self, tensor: str, rank: int) -> str:
        if tensor in self.graph.constants:
            value = self.graph.constants[tensor]
            moved = value.reshape(_on_axes(value.shape, rank)).transpose(_to_last(rank))
            return self.builder.constant(moved.copy(), tensor)
        source = self._second(tensor)
        shape = self.graph.types[tensor].shape
        if len(shape) < rank:
            (source,) = self.builder.add(Reshape(_on_axes(shape, rank)), [source])
        return self._transposed(source, _to_last(rank))

    def _transposed(self, tensor: str, perm: Perm, result: str = "") -> str:
        op = Transpose(perm).simplest(self.builder.types[tensor].shape)
        return self.builder.add(op, [tensor], [result] if result else None)[0]


def no_channels_second(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _is_bound(node):
            yield node.where, "still has channels second"


CHANNELS_LAST = Pass("channels last", run, ensures=no_channels_second)

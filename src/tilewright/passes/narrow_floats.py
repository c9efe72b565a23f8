"""Layers that kernels compute in 16 bits are stored in 16 bits, with Casts where a neighbour stays in 32 bits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph, Node, State, rebuild
from tilewright.ir.half_floats import HALF, LARGEST, infer
from tilewright.ir.types import Array, element
from tilewright.ir.unused import drop_unused
from tilewright.ops.cast import Cast
from tilewright.ops.concat import Concat
from tilewright.ops.expand import Expand
from tilewright.ops.gather import Gather
from tilewright.ops.identity import Identity
from tilewright.ops.pad import Pad
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.passes import APPROXIMATE, Pass

Short = Callable[[Graph, Node], Collection[str] | None]
"""The float32 operands of a node that are to be in 16 bits; None where the node stays as it is."""
MOVES = (Concat, Expand, Gather, Identity, Pad, Slice, Transpose)
"""Operators that compute nothing."""
FEW = 2
"""Layers without a product for which Casts around them are no gain."""
WIDER = {"float16": "--precision bf16 has the range of float32", "bfloat16": "use --precision fp32"}
"""What to try where a number is too large."""
MOST_NAMED = 8
"""Layers that a note names."""


def run(graph: Graph, dtype: str, short: Short) -> Graph:
    every = {node.key: found for node in graph.nodes if (found := short(graph, node)) is not None}
    wanted = _paying(graph, _read_short(graph, every))
    if not wanted:
        return graph
    states = {state.name: state for state in graph.states if _is_narrowed(graph, state, wanted)}
    made = _Narrowed(_with_states(graph, dtype, states), dtype, wanted, states)
    for node in graph.nodes:
        made.add(node)
    return made.finished()


# ---- what pays ----------------------------------------------------------------------------------------------------


def _paying(graph: Graph, wanted: Mapping[str, Collection[str]]) -> dict[str, Collection[str]]:
    """Without the layers that would have Casts all around them, and too little between."""
    found: dict[str, Collection[str]] = {}
    for region in _regions(graph, wanted):
        if pays([node for node in region if node.key in wanted]):
            found |= {node.key: wanted[node.key] for node in region if node.key in wanted}
    return found


def _read_short(graph: Graph, wanted: Mapping[str, Collection[str]]) -> dict[str, Collection[str]]:
    """Without layers that make nothing but what others read in 32 bits, such as a mask of an attention."""
    found, ends = dict(wanted), {*graph.outputs, *(state.after for state in graph.states)}
    for node in reversed(graph.nodes):
        is_read = any(_is_read_short(graph, name, found, ends) for name in node.outputs if name)
        if not is_read and not node.op.multiplies:
            found.pop(node.key, None)
    return found


def _is_read_short(graph: Graph, tensor: str, wanted: Mapping[str, Collection[str]], ends: Collection[str]) -> bool:
    """Whether a layer takes a tensor, or a view of it, in 16 bits, or it is at an end of the graph."""
    if tensor in ends:
        return True
    for node in graph.consumers.get(tensor, ()):
        named = {name for name, read in node.operands().items() if read == tensor}
        if node.op.view and _is_read_short(graph, node.key, wanted, ends):
            return True
        is_narrowed = isinstance(node.op, Cast) and node.op.to in HALF
        if not node.op.view and (is_narrowed or not named.isdisjoint(wanted.get(node.key, ()))):
            return True
    return False


def pays(nodes: Sequence[Node]) -> bool:
    """Whether layers that are connected are worth the Casts at their ends."""
    return any(node.op.multiplies for node in nodes) or sum(not isinstance(node.op, MOVES) for node in nodes) > FEW


def _regions(graph: Graph, wanted: Mapping[str, Collection[str]]) -> Iterator[list[Node]]:
    """Nodes in 16 bits, and views between them, that are connected by their tensors."""
    region_of: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if node.key not in wanted and not node.op.view:
            continue
        own = [node]
        for other in _regions_before(graph, node, region_of):
            if other is not own:
                other += own
                region_of |= {one.key: other for one in own}
                own = other
        region_of[node.key] = own
    yield from {id(region): region for region in region_of.values()}.values()


def _regions_before(graph: Graph, node: Node, region_of: Mapping[str, list[Node]]) -> Iterator[list[Node]]:
    for name in node.inputs:
        maker = graph.producers.get(name)
        if maker is not None and maker.key in region_of and graph.types[name].dtype == "float32":
            yield region_of[maker.key]


# ---- states -------------------------------------------------------------------------------------------------------


def _is_narrowed(graph: Graph, state: State, wanted: Mapping[str, Collection[str]]) -> bool:
    """Whether all that make and read the value of a state do so in 16 bits."""
    maker = graph.producers.get(state.after)
    while maker is not None and maker.op.view:
        maker = graph.producers.get(maker.inputs[0])
    is_made = maker is not None and maker.key in wanted and state.initial.dtype == np.float32
    return is_made and state.before not in graph.outputs and _all_read_short(graph, state.before, wanted)


def _all_read_short(graph: Graph, tensor: str, wanted: Mapping[str, Collection[str]]) -> bool:
    for node in graph.consumers.get(tensor, ()):
        named = {name for name, read in node.operands().items() if read == tensor}
        if node.op.view and not _all_read_short(graph, node.key, wanted):
            return False
        if not node.op.view and not named.issubset(wanted.get(node.key, ())):
            return False
    return True


def _with_states(graph: Graph, dtype: str, narrowed: Mapping[str, State]) -> Graph:
    """The graph with these states in 16 bits; its nodes still have the types that they had."""
    states = [
        replace(state, initial=_shortened(state.initial, f"state '{state.name}'", dtype)) if state.name in narrowed
        else state
        for state in graph.states
    ]  # fmt: skip
    types = {state.before: replace(graph.types[state.before], dtype=dtype) for state in narrowed.values()}
    return replace(graph, states=tuple(states), types={**graph.types, **types})


# ---- the graph ----------------------------------------------------------------------------------------------------


@dataclass
class _Narrowed:
    """A graph that grows node by node. A tensor has two forms, of which a Cast makes the one that is asked for."""

    graph: Graph
    dtype: str
    wanted: Mapping[str, Collection[str]]
    """Nodes in 16 bits, by key: which of their operands are."""
    states: Mapping[str, State]
    """Those in 16 bits, by name."""
    builder: Builder = field(init=False)
    shorts: dict[str, str] = field(default_factory=dict)
    """Tensor -> what it is called in 16 bits."""
    floats: dict[str, str] = field(default_factory=dict)
    """Of those, tensor -> what it is called in 32 bits."""
    kept: list[Node] = field(default_factory=list)
    """Nodes that compute floats in 32 bits."""

    def __post_init__(self) -> None:
        self.builder = rebuild(self.graph)
        self.shorts |= {state.before: state.before for state in self.states.values()}

    @property
    def sinks(self) -> list[str]:
        """What is needed in the type that it has."""
        return [*self.graph.outputs, *(one.after for one in self.graph.states if one.name not in self.states)]

    def add(self, node: Node) -> None:
        self.builder.node_name = node.name
        if isinstance(node.op, Cast) and self._is_cast(node, node.op):
            return
        wanted = self._short_view(node) if node.op.view else self.wanted.get(node.key)
        if wanted is None:
            self._copy(node)
            return
        operands = node.op.operand_names(len(node.inputs))
        inputs = [
            self._as_short(tensor) if name in wanted else self._as_float(tensor)
            for name, tensor in zip(operands, node.inputs, strict=True)
        ]
        types = [self.builder.types[name] if name else None for name in inputs]
        made = infer(node.op, node.op.bind(types))
        outputs = [
            self._result(tensor) if kind.dtype == self.dtype else tensor
            for tensor, kind in zip(node.outputs, made, strict=False)
        ]
        self.builder.add(node.op, inputs, outputs, node.name)
        for tensor, own in zip(node.outputs, outputs, strict=True):
            if own and self.builder.types[own].dtype == self.dtype:
                self.shorts[tensor] = own

    def _short_view(self, node: Node) -> Collection[str] | None:
        first = node.inputs[0]
        return node.op.operand_names(1) if first in self.shorts and first not in self.graph.constants else None

    def _is_cast(self, node: Node, op: Cast) -> bool:
        """Whether a Cast of the network is between both forms of a tensor, which are there anyway."""
        source, result = node.inputs[0], node.outputs[0]
        if op.to == "float32" and self.builder.types[source].dtype == self.dtype:
            self.shorts[result] = source
            return True
        if op.to == self.dtype and source in self.shorts:
            self.builder.add(Identity(), [self.shorts[source]], [result], node.name)
            return True
        return False

    def _copy(self, node: Node) -> None:
        self.builder.add(node.op, [self._as_float(tensor) for tensor in node.inputs], node.outputs, node.name)
        is_own = not node.op.view and not isinstance(node.op, Cast)
        if is_own and any(self.graph.types[name].dtype == "float32" for name in filter(None, node.outputs)):
            self.kept.append(node)

    def _result(self, tensor: str) -> str:
        """What a result in 16 bits is called: its own name is for those who get it in 32."""
        is_seen = tensor in self.sinks and self.graph.types[tensor].dtype == "float32"
        return self.builder.fresh(f"{tensor}_{self.dtype}") if is_seen else tensor

    def _as_short(self, tensor: str) -> str:
        if tensor not in self.shorts:
            array, name = self.graph.constants.get(tensor), f"{tensor}_{self.dtype}"
            if array is None:
                (self.shorts[tensor],) = self.builder.add(Cast(self.dtype), [tensor], [self.builder.fresh(name)])
            else:
                short = _shortened(array, f"constant '{tensor}'", self.dtype)
                self.shorts[tensor] = self.builder.constant(short, name)
        return self.shorts[tensor]

    def _as_float(self, tensor: str) -> str:
        short = self.shorts.get(tensor)
        if short is None or (tensor != short and tensor in self.builder.types):
            return tensor
        if tensor not in self.floats:
            name = tensor if tensor in self.sinks else self.builder.fresh(f"{tensor}_float32")
            (self.floats[tensor],) = self.builder.add(Cast(), [short], [name])
        return self.floats[tensor]

    def finished(self) -> Graph:
        for tensor in self.sinks:
            self._as_float(tensor)
        if self.kept:
            self.builder.note(_note(self.kept, self.dtype))
        self.builder.copy_outputs(self.graph, lambda tensor: self.floats.get(tensor, tensor))
        for state in self.states.values():
            self.builder.set_next_state(state.name, self.shorts[state.after])
        return drop_unused(self.builder.build())


def _shortened(array: Array, where: str, dtype: str) -> Array:
    largest = float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
    if largest > LARGEST[dtype]:
        what = f"has {largest:.6g}, and the largest {dtype} is {LARGEST[dtype]:.6g}"
        raise CompileError(where, what, WIDER[dtype])
    return array.astype(element(dtype))


def _note(kept: list[Node], dtype: str) -> str:
    named = [f"'{node.name}' ({node.op.kind})" for node in kept[:MOST_NAMED]]
    more = [f"{len(kept) - MOST_NAMED} more"] if len(kept) > MOST_NAMED else []
    return f"stored in float32: {', '.join([*named, *more])}; no kernel takes {dtype}, or Casts would cost more"


def narrow_floats(dtype: str, short: Short) -> Pass:
    return Pass(f"floats as {dtype}", partial(run, dtype=dtype, short=short), numbers=APPROXIMATE)

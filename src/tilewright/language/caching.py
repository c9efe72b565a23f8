"""Attention that remembers: keys and values of earlier calls are kept as states, and new ones are written there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tilewright.errors import CompileError, InternalError
from tilewright.ir.graph import Builder, Graph, Node, State, rebuild
from tilewright.ir.types import element
from tilewright.ops._attention_rows import AttentionRows
from tilewright.ops.cast import Cast
from tilewright.ops.writerows import WriteRows
from tilewright.records import dataclass

POSITION = "position"
"""The input that says how many tokens came before."""


def with_cache(graph: Graph, context: int) -> Graph:
    """A graph of some tokens in which every attention sees all tokens since the first call, up to `context` of them."""
    attentions = [node for node in graph.nodes if isinstance(node.op, AttentionRows)]
    if not attentions:
        raise CompileError(f"network '{graph.name}'", "has no attention that could have a cache", "is it a decoder?")
    caches = {node.key: _Cache.of(graph, node, number, context) for number, node in enumerate(attentions)}
    builder = Builder(graph.name, notes=list(graph.notes), numerics_records=graph.numerics_records, scales=graph.scales)
    for name in graph.inputs:
        builder.input(name, graph.types[name])
    for name, array in graph.constants.items():
        builder.constants[name], builder.types[name] = array, graph.types[name]
    builder.reserve(graph.types)
    for cache in caches.values():
        cache.declare(builder)
    for node in graph.nodes:
        if node.key in caches:
            caches[node.key].attend(builder, node)
        else:
            builder.add(node.op, node.inputs, node.outputs, node.name)
    builder.copy_outputs(replace(graph, states=()))
    return builder.build()


@dataclass(frozen=True)
class _Cache:
    """Of one attention."""

    graph: Graph
    number: int
    context: int
    keys: str
    values: str

    @staticmethod
    def of(graph: Graph, node: Node, number: int, context: int) -> _Cache:
        _check(graph, node)
        operands = node.operands()
        return _Cache(graph, number, context, operands["K"], operands["V"])

    @property
    def parts(self) -> dict[str, tuple[str, str]]:
        """Operands of the attention -> the state that keeps their rows, and what makes new ones."""
        return {"K": (f"keys{self.number}", self.keys), "V": (f"values{self.number}", self.values)}

    def declare(self, builder: Builder) -> None:
        for name, tensor in self.parts.values():
            kind = self.graph.types[tensor]
            _, _, heads, length = kind.shape
            builder.state(name, np.zeros((1, self.context, heads, length), element(kind.dtype)))

    def attend(self, builder: Builder, node: Node) -> None:
        named = {**node.operands(), "position": POSITION}
        for operand, (name, tensor) in self.parts.items():
            rows = [builder.states[name].before, tensor, POSITION]
            (named[operand],) = builder.add(WriteRows(), rows, name=f"{node.name}.{name}")
            builder.set_next_state(name, named[operand])
        names = [name.rstrip("?") for name in node.op.operands]
        builder.add(replace(_rows(node), causal=True), [named.get(name, "") for name in names], node.outputs, node.name)


def _rows(node: Node) -> AttentionRows:
    if not isinstance(node.op, AttentionRows):
        raise InternalError(node.where, "is no attention")
    return node.op


def _check(graph: Graph, node: Node) -> None:
    """A cache holds what all queries up to a token see: attention that looks ahead has none."""
    op, operands = _rows(node), node.operands()
    tokens = graph.types[operands["Q"]].shape[1]
    if not op.causal and tokens != 1:
        what = "attends to later tokens, so it cannot run token by token"
        raise CompileError(node.where, what, "use a decoder: its attention is causal (docs/language_models.md)")
    if POSITION in operands or op.first:
        raise CompileError(node.where, "has a cache already", "export the model without one (use_cache=False)")
    if POSITION not in graph.inputs:
        what = f"has no input '{POSITION}': how many tokens came before"
        raise CompileError(f"network '{graph.name}'", what, "add it: a scalar of int32")


def with_short_caches(graph: Graph) -> Graph:
    """With keys and values that are kept as float16."""
    writers = {state.after: state.name for state in graph.states if _is_cache(graph, state)}
    short = tuple(
        replace(state, initial=state.initial.astype(np.float16)) if state.after in writers else state
        for state in graph.states
    )
    builder = rebuild(replace(graph, states=short))
    after = {state.name: state.after for state in graph.states}
    for node in graph.nodes:
        if node.key not in writers:
            builder.copy_node(node, graph)
            continue
        before, rows, position = node.inputs
        (rounded,) = builder.add(Cast("float16"), [rows], name=f"{node.name}.short")
        (after[writers[node.key]],) = builder.add(WriteRows(), [before, rounded, position], name=node.name)
        builder.add(Cast("float32"), [after[writers[node.key]]], node.outputs, f"{node.name}.long")
    builder.copy_outputs(replace(graph, states=()))
    for name, tensor in after.items():
        builder.set_next_state(name, tensor)
    return builder.build()


def _is_cache(graph: Graph, state: State) -> bool:
    writer = graph.producers.get(state.after)
    return writer is not None and isinstance(writer.op, WriteRows) and state.initial.dtype == np.float32


def without_outputs(graph: Graph) -> Graph:
    """The part of a graph that its states need."""
    needed = set(_needed(graph, (state.after for state in graph.states)))
    nodes = tuple(node for node in graph.nodes if node.key in needed)
    used = {name for node in nodes for name in (*node.inputs, *node.outputs)} | {*graph.sources}
    constants = {name: array for name, array in graph.constants.items() if name in used}
    types = {name: kind for name, kind in graph.types.items() if name in used}
    return replace(graph, outputs=(), output_names=(), nodes=nodes, constants=constants, types=types)


def _needed(graph: Graph, tensors: Iterable[str]) -> list[str]:
    """The keys of the nodes that make tensors, and what those need."""
    found: dict[str, None] = {}
    waiting = list(tensors)
    while waiting:
        node = graph.producers.get(waiting.pop())
        if node is not None and node.key not in found:
            found[node.key] = None
            waiting += [name for name in node.inputs if name]
    return list(found)

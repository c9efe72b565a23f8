"""The forward part of a training graph: the network with weights as states, as it is while it learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.records import dataclass

Rewrite = Callable[[Builder, Node], bool]
"""Adds what stands for a node, which has its results' names, and says whether it has."""


@dataclass(frozen=True)
class Weights:
    """Constants that become states: those that learn, and those that training changes otherwise."""

    learning: tuple[str, ...]
    statistics: tuple[str, ...] = ()
    values: Mapping[str, Array] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.learning, *self.statistics)


def begun(graph: Graph, weights: Weights, name: str) -> Builder:
    """A builder with the network's inputs, constants and states, and weights as states that are only read."""
    builder = Builder(name, notes=list(graph.notes), kept_floats=list(graph.kept_floats))
    builder.numerics_records = graph.numerics_records
    for tensor in graph.inputs:
        builder.input(tensor, graph.types[tensor])
    for state in graph.states:
        builder.state(state.name, state.initial, state.before)
    for tensor in weights.names:
        builder.state(tensor, weights.values[tensor], tensor)
        builder.set_next_state(tensor, tensor)
    for tensor, array in graph.constants.items():
        if tensor not in builder.types:
            builder.types[tensor], builder.constants[tensor] = graph.types[tensor], array
    builder.reserve(graph.types)
    return builder


def add_nodes(builder: Builder, graph: Graph, nodes: Sequence[Node], rewrites: Sequence[Rewrite] = ()) -> None:
    for node in nodes:
        if not any(rewrite(builder, node) for rewrite in rewrites):
            builder.copy_node(node, graph)


def with_activation_apart(builder: Builder, node: Node) -> bool:
    """A product with an activation inside, as two nodes: the gradient needs what is between them."""
    activation = getattr(node.op, "activation", None)
    if activation is None:
        return False
    plain = replace(node.op, activation=None)  # type: ignore[call-arg]  # every operator that has one is a dataclass with it
    (before,) = builder.add(plain, node.inputs, None, node.name)
    builder.add(activation, [before], node.outputs, node.name)
    return True

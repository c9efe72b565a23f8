"""Several graphs as one: starting a compiler or a simulator takes longer than a small network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.ir.graph import Graph, Node, State


def prefix(number: int) -> str:
    return f"n{number}_"


def merged(graphs: Sequence[Graph]) -> Graph:
    """Side by side; the names of the first begin with `n0_`."""
    parts = [_renamed(graph, prefix(number)) for number, graph in enumerate(graphs)]
    return Graph(
        "merged",
        tuple(name for part in parts for name in part.inputs),
        tuple(name for part in parts for name in part.outputs),
        tuple(name for part in parts for name in part.output_names),
        tuple(node for part in parts for node in part.nodes),
        {name: kind for part in parts for name, kind in part.types.items()},
        {name: value for part in parts for name, value in part.constants.items()},
        tuple(note for part in parts for note in part.notes),
        tuple(state for part in parts for state in part.states),
        tuple(name for part in parts for name in part.kept_floats),
    )


def _renamed(graph: Graph, start: str) -> Graph:
    def of(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name and start + name for name in names)

    def node(one: Node) -> Node:
        return Node(start + one.name, one.op, of(one.inputs), of(one.outputs))

    def state(one: State) -> State:
        return State(start + one.name, start + one.before, start + one.after, one.initial)

    return replace(
        graph, inputs=of(graph.inputs), outputs=of(graph.outputs), output_names=of(graph.output_names),
        nodes=tuple(map(node, graph.nodes)), types={start + name: kind for name, kind in graph.types.items()},
        constants={start + name: value for name, value in graph.constants.items()},
        states=tuple(map(state, graph.states)), kept_floats=of(graph.kept_floats),
    )  # fmt: skip

"""The network itself, taken out of a graph of steps: what the loss compares with the label."""

from __future__ import annotations

from dataclasses import replace

from tilewright.ir.graph import Graph, Node
from tilewright.training.graphs import read_state
from tilewright.training.labels import predicted


def inference(train: Graph, weights: tuple[str, ...]) -> Graph | None:
    """None where the step does not compute what the network gives: batches are normalised by their own means."""
    output = predicted(train)
    if output is None:
        return None
    nodes = _needed(train, output)
    used = {name for node in nodes for name in (*node.inputs, *node.outputs)} | {output}
    if train.inputs[-1] in used or any(_normalises_batch(train, node) for node in nodes):
        return None
    states = tuple(read_state(state) for state in train.states if state.before in used and state.name in weights)
    others = [state.before for state in train.states if state.before in used and state.name not in weights]
    if others:
        return None
    inputs = tuple(name for name in train.inputs if name in used)
    kept = used | {*inputs, *(state.before for state in states)}
    return Graph(
        train.name, inputs, (output,), (output,), nodes,
        {name: kind for name, kind in train.types.items() if name in kept},
        {name: array for name, array in train.constants.items() if name in kept}, train.notes, states,
    )  # fmt: skip


def _needed(graph: Graph, tensor: str) -> tuple[Node, ...]:
    needed = {tensor}
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            needed.update(filter(None, node.inputs))
    return tuple(replace(node) for node in graph.nodes if needed.intersection(node.outputs))


def _normalises_batch(train: Graph, node: Node) -> bool:
    """With statistics that are computed here, not kept from before."""
    if "BatchNorm" not in node.op.kind:
        return False
    known = {*train.constants, *(state.before for state in train.states)}
    return not all(name in known for name in node.inputs[1:] if name)

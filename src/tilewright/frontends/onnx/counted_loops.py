"""What a Loop's body shows of its turns before any of them runs: how many there are, and which values never change.

Exporters of TensorFlow write `while i < n` as a Loop without a number of iterations, and hand weights from turn to
turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from tilewright.frontends.onnx import file as onnx_file
from tilewright.frontends.onnx.bodies import Body
from tilewright.frontends.onnx.control_flow import ControlFlow

MOST_COUNTED = 2_000
"""Turns that are counted one by one; longer loops keep their condition."""

CONDITION = 0
"""Its position among a body's outputs; carried values follow. Among the inputs it is preceded by the turn's number."""


def unchanged(body: Body, carried: Sequence[str]) -> list[bool]:
    """Of each carried value, whether every turn gives it on as it came."""
    copies = {node.output[0]: node.input[0] for node in body.graph.node if node.op_type == "Identity"}
    outputs = [value.name for value in body.graph.output]
    return [_origin(outputs[1 + at], copies) == body.inputs[2 + at] for at in range(len(carried))]


def _origin(name: str, copies: Mapping[str, str]) -> str:
    while name in copies:
        name = copies[name]
    return name


def counted_turns(flow: ControlFlow, carried: Sequence[str], most: int) -> int | None:
    """The number of turns, at most `most` where that is not negative; None where data has a say in it, or where they
    are too many to count."""
    decides = _deciding(flow, carried)
    if decides is None:
        return None
    body = flow.body("body", 1 + len(flow.node.output), (CONDITION, *(1 + at for at in decides)))
    limit = MOST_COUNTED if most < 0 else min(most, MOST_COUNTED)
    values = dict(zip(body.inputs[2:], carried, strict=True))
    for turn in range(limit):
        number, goes_on = flow.counters(body, turn)
        made = flow.insert(body, {**values, body.inputs[0]: number, body.inputs[1]: goes_on}, f"count/{turn}")
        condition = flow.scope.constants.get(made[CONDITION])
        if condition is None or condition.size != 1:
            return None
        if not condition.reshape(-1)[0]:
            return turn + 1
        values |= {body.inputs[2 + at]: made[1 + at] for at in decides}
    return limit if limit == most else None


def _deciding(flow: ControlFlow, carried: Sequence[str]) -> list[int] | None:
    """Positions of the carried values that the condition follows from; None unless all that has a say is known."""
    graph, found = flow.bodies["body"], list[int]()
    inputs, outputs = ([value.name for value in values] for values in (graph.input, graph.output))
    asked = [outputs[CONDITION]]
    for name in asked:  # grows as it goes
        leaves = _leaves(graph, name)
        if leaves is None or not all(leaf in inputs or leaf in flow.scope.constants for leaf in leaves):
            return None
        new = [at for at in range(len(carried)) if inputs[2 + at] in leaves and at not in found]
        found += new
        asked += [outputs[1 + at] for at in new]
    return found if all(carried[at] in flow.scope.constants for at in found) else None


def _leaves(graph: onnx.GraphProto, name: str) -> set[str] | None:
    """What a tensor of a graph is computed from that is not the graph's own; None where control flow computes it."""
    nodes = onnx_file.live_nodes(graph, [name])
    if any(onnx_file.subgraphs(node) for node in nodes):
        return None
    made = {output for node in nodes for output in node.output} | {tensor.name for tensor in graph.initializer}
    return {name, *(read for node in nodes for read in node.input if read)} - made

"""Rewrites of the graph. A pass states what it requires and what it ensures; both are checked, and so is the graph
itself: in between it is well formed, and to the caller it looks as before."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

import numpy as np

from tilewright.errors import CompileError, InternalError, Refusal
from tilewright.ir.graph import Graph, Node, verify
from tilewright.ops._control_flow import Body, ControlFlow
from tilewright.records import dataclass

Complaint = tuple[str, str]
"""Where, and what is wrong there."""

Condition = Callable[[Graph], Iterator[Complaint]]
"""What a graph lacks."""


def none_left(taken: Callable[[Graph, Node], object], what: str) -> Condition:
    """No node is left that could be taken: of every one there is a `Refusal`."""

    def left(graph: Graph) -> Iterator[Complaint]:
        for node in graph.nodes:
            try:
                taken(graph, node)
            except Refusal:
                continue
            yield node.where, what

    return left


def nothing(graph: Graph) -> Iterator[Complaint]:
    """No condition."""
    yield from ()


@dataclass(frozen=True)
class Numbers:
    """What a pass may change of the numbers of tensors that a graph has before and after it.

    Integers stay the same to the bit, and floats but for float32 rounding, unless `steps` says otherwise: how much
    further a quantised tensor may be from the exact real number than its nearest integer is, in quantisation steps.
    """

    steps: float = 0.0
    steps_by_operator: Mapping[str, float] = field(default_factory=dict, hash=False)
    """For results of some kinds of operators, instead of `steps`; `kind:dtype` for one element type."""
    share: float = 1.0
    """Of a tensor's elements, how many may have another integer than the nearest, besides `FEW` of a small tensor."""

    @property
    def is_bounded(self) -> bool:
        return self.steps < math.inf

    def allowed(self, kind: str, dtype: str) -> float:
        """Steps that the result of an operator may be further off than its nearest integer is."""
        by_operator = self.steps_by_operator
        return by_operator.get(f"{kind}:{dtype}", by_operator.get(kind, self.steps))


SAME = Numbers()
APPROXIMATE = Numbers(math.inf)
"""Another network, as the user asks for and notes say (hardware's own functions, floats to quantise anew): no bound is
stated."""
FEW = 4
"""Elements of a small tensor that may differ whatever share of it they are."""


@dataclass(frozen=True)
class Pass:
    name: str
    run: Callable[[Graph], Graph]
    requires: Condition = nothing
    ensures: Condition = nothing
    numbers: Numbers = SAME


def apply(graph: Graph, passes: tuple[Pass, ...]) -> Graph:
    """To the graph and to the bodies of its control flow, innermost first. Raises `InternalError` with the pass and the
    node where a pass finds or leaves something else than it says."""
    for step in passes:
        graph = _applied(step, in_bodies(graph, lambda body, step=step: apply(body, (step,))))  # type: ignore[misc]
    return graph


def in_bodies(graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """The graph with changed bodies of control flow, and their notes; the same one where nothing changes."""
    nodes, notes = list(graph.nodes), list(graph.notes)
    for position, node in enumerate(nodes):
        if not isinstance(node.op, ControlFlow) or node.op.is_planned:
            continue
        made = [change(body.graph) for body in node.op.bodies]
        if any(new is not old.graph for new, old in zip(made, node.op.bodies, strict=True)):
            nodes[position] = replace(node, op=node.op.with_bodies([Body(one) for one in made]))
            notes += [note for one in made for note in one.notes]
    if all(new is old for new, old in zip(nodes, graph.nodes, strict=True)):
        return graph
    return replace(graph, nodes=tuple(nodes), notes=tuple(dict.fromkeys(notes)))


def _applied(step: Pass, graph: Graph) -> Graph:
    _check(step, "requires", step.requires(graph))
    # Weights are data: where folding them overflows, infinity is the answer, as it would be at run time.
    with np.errstate(all="ignore"):
        made = step.run(graph)
    if made is not graph:
        _check(step, "leaves", _malformed(made))
        _check(step, "leaves", _other_interface(graph, made))
    _check(step, "ensures", step.ensures(made))
    return made


def _check(step: Pass, kind: str, complaints: Iterator[Complaint]) -> None:
    for where, what in complaints:
        raise InternalError(f"pass '{step.name}', {where}", f"{MEANING[kind]}: {what}")


MEANING = {
    "requires": "what the pass requires does not hold",
    "ensures": "what the pass ensures does not hold",
    "leaves": "the pass has broken the graph",
}


def _malformed(graph: Graph) -> Iterator[Complaint]:
    try:
        verify(graph)
    except CompileError as error:
        yield error.where, error.what
    except Refusal as refusal:
        yield "a node", refusal.what


def _other_interface(before: Graph, after: Graph) -> Iterator[Complaint]:
    """Callers know inputs and outputs by name, type and position."""
    if [(name, after.types.get(name)) for name in after.inputs] != [(n, before.types[n]) for n in before.inputs]:
        yield "inputs", f"{', '.join(before.inputs)} have become {', '.join(after.inputs)}"
    if after.output_names != before.output_names:
        yield "outputs", f"{', '.join(before.output_names)} have become {', '.join(after.output_names)}"
    for name, old, new in zip(before.output_names, before.outputs, after.outputs, strict=False):
        if before.types[old] != after.types[new]:
            yield f"output '{name}'", f"{before.types[old]} has become {after.types[new]}"
    if [state.name for state in after.states] != [state.name for state in before.states]:
        yield "states", f"{_state_names(before)} have become {_state_names(after)}"


def _state_names(graph: Graph) -> str:
    return ", ".join(state.name for state in graph.states) or "none"

"""Steps and updates in order: on a session, and as numpy computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate, states_after
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.training.compiling import Learner
from tilewright.training.labels import check_labels
from tilewright.training.session import NotFinite, Session

Told = Callable[[str], None]


@dataclass(frozen=True)
class Trained:
    """What a loop gave."""

    losses: tuple[float, ...]
    """Of each step."""
    weights: Mapping[str, Array]
    """What was learned, in the end."""
    step_cycles: tuple[int, ...] = ()
    """Of each step, where they are counted."""
    update_cycles: tuple[int, ...] = ()


def run(
    session: Session, steps: Sequence[Mapping[str, Array]], accumulated: int, told: Told = lambda what: None
) -> Trained:
    """All steps, with an update after each group of them."""
    training, losses, cycles, updates = session.learner.training, list[float](), list[int](), list[int]()
    for number, inputs in enumerate(steps):
        check_labels(training.train, inputs, f"step {number}")
    for number, inputs in enumerate(steps):
        told(f"step {number + 1} of {len(steps)}")
        try:
            call = session.train(inputs)
        except NotFinite:
            raise not_finite(session, inputs, number) from None
        losses.append(float(np.asarray(next(iter(call.outputs.values()))).reshape(-1)[0]))
        cycles += [] if call.cycles is None else [call.cycles]
        if (number + 1) % accumulated == 0:
            done = session.update()
            updates += [] if done.cycles is None else [done.cycles]
    return Trained(tuple(losses), session.weights(), tuple(cycles), tuple(updates))


def reference(learner: Learner, steps: Sequence[Mapping[str, Array]], accumulated: int) -> Trained:
    """The same as numpy computes it, quantised layers in integers."""
    training = learner.training
    train, update = (learner.networks[which].quantised for which in ("train", "update"))
    states = {name: state.initial for name, state in training.states.items()}
    losses = []
    for number, inputs in enumerate(steps):
        values = _called(train, inputs, states)
        losses.append(float(values[train.outputs[0]].reshape(-1)[0]))
        if (number + 1) % accumulated == 0:
            _called(update, {}, states)
    return Trained(tuple(losses), {name: states[name] for name in training.learned})


def _called(graph: Graph, inputs: Mapping[str, Array], states: dict[str, Array]) -> dict[str, Array]:
    """All tensors of a call, which changes the states."""
    values = evaluate(graph, inputs, states)
    states |= states_after(graph, values)
    return values


def not_finite(session: Session, inputs: Mapping[str, Array], number: int) -> CompileError:
    """A loss that is no number, and the first layer that makes one that is none."""
    graph = session.learner.training.train
    states = {state.name: session.state(state.name) for state in graph.states}
    first = next(first_not_finite(graph, inputs, states, session.learner.training.learned), "")
    where = f"; the first tensor that is not finite is made by {first}" if first else ""
    hint = "a smaller learning rate, or data of a smaller range; gradients since the last update were dropped"
    return CompileError(f"step {number}", f"the loss is infinite or not a number{where}", hint)


def first_not_finite(
    graph: Graph, inputs: Mapping[str, Array], states: Mapping[str, Array], learned: Sequence[str]
) -> Iterator[str]:
    """States and nodes, in order, that hold or make what is not finite."""
    for state in graph.states:
        # Buffers already hold what this step has added.
        if state.name in learned and _is_wrong(states[state.name]):
            yield f"an update: weight '{state.name}'"
    values = evaluate(graph, inputs, states)
    for node in graph.nodes:
        if any(_is_wrong(values[name]) for name in node.outputs if name):
            yield node.where


def _is_wrong(array: Array) -> bool:
    return array.dtype.kind == "f" and not bool(np.isfinite(array).all())

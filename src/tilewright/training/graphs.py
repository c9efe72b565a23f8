"""What a network that learns is made of: three graphs that share states by name.

`train` computes the loss of a batch and adds gradients to buffers, `update` applies the buffers to the weights, `infer`
reads the weights. Without buffers, `train` updates the weights itself, and `update` has nothing to do. All three may be
called in any order; what lives between calls is in states alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tilewright.errors import InternalError
from tilewright.ir.graph import Graph, State
from tilewright.ir.types import TensorType, type_of
from tilewright.records import dataclass

FIRST = "first_of_accumulation"
"""The state that says whether the next step overwrites the buffers (true) or adds to them: bool[1].

`train` leaves false in it, `update` true, and its first value is true."""


@dataclass(frozen=True)
class Training:
    """Three graphs. A state has one name, one type and one first value in all graphs that have it; a graph that only
    reads a state has the tensor `before` as its `after` (`read_state`). Graphs need only the states that they use."""

    name: str
    train: Graph
    """Inputs: data, then the label or target. Its first output is the loss, a float of one element."""
    update: Graph
    """No inputs, and no outputs."""
    infer: Graph | None
    """Input: data. Weights are states that it only reads, where `train` keeps what the model learns. None where nobody
    has said what the network gives (a training graph of another tool)."""
    weights: tuple[str, ...]
    """States that `update` changes by their gradients."""
    buffers: tuple[str, ...]
    """The gradient of each weight, summed over the steps of an accumulation: as many, in the same order; none where a
    step updates the weights itself."""
    moments: tuple[str, ...] = ()
    """States of the optimizer alone: momentum, Adam's two averages, the count of updates."""
    statistics: tuple[str, ...] = ()
    """States that `train` changes and `infer` reads: running means and variances of normalisations."""
    notes: tuple[str, ...] = ()

    @cached_property
    def graphs(self) -> Mapping[str, Graph]:
        """By what they are called in C and in tables."""
        named = {"train": self.train, "update": self.update, "infer": self.infer}
        return {name: graph for name, graph in named.items() if graph is not None}

    @cached_property
    def states(self) -> Mapping[str, State]:
        """Of all graphs, by name: weights, statistics, moments, then buffers, which is what a program may forget, and
        others."""
        found = {state.name: state for graph in self.graphs.values() for state in graph.states}
        named = [*self.weights, *self.statistics, *self.moments, *self.buffers]
        return {name: found[name] for name in dict.fromkeys([*named, *found])}

    @property
    def learned(self) -> tuple[str, ...]:
        """States that inference reads and training changes: what a device keeps when the power is off."""
        return (*self.weights, *self.statistics)

    @cached_property
    def types(self) -> Mapping[str, TensorType]:
        """Of states, by name."""
        return {name: type_of(state.initial) for name, state in self.states.items()}

    def with_graphs(self, **graphs: Graph) -> Training:
        """With other graphs of the same meaning."""
        return checked(replace(self, **graphs))  # type: ignore[arg-type]


def read_state(state: State) -> State:
    """The state in a graph that only reads it."""
    return replace(state, after=state.before)


def padded(graph: Graph, states: Sequence[State]) -> Graph:
    """The same graph with all these states, in this order: those that it does not have are kept as they are, so that
    networks of one arena find every state at the same place."""
    own = {state.name: state for state in graph.states}
    types, found = dict(graph.types), []
    for state in states:
        if state.name not in own:
            name = _unused(state.name, types)
            types[name] = type_of(state.initial)
            own[state.name] = State(state.name, name, name, state.initial)
        found.append(replace(own[state.name], is_shared=True))
    return replace(graph, states=tuple(found), types=types)


def checked(training: Training) -> Training:
    """The same, if its graphs fit together; what does not is a fault of the one who made it."""
    for problem in _problems(training):
        raise InternalError(f"training of '{training.name}'", problem)
    return training


def _problems(training: Training) -> Iterator[str]:
    if len(training.buffers) not in (0, len(training.weights)):
        yield f"{len(training.weights)} weights have {len(training.buffers)} buffers"
    loss = training.train.types[training.train.outputs[0]] if training.train.outputs else None
    if loss is None or loss.elements != 1 or not loss.dtype.startswith("float"):
        yield f"the first output of train is {loss}, not a loss"
    if training.update.inputs or training.update.outputs:
        yield "update has inputs or outputs"
    yield from _unlike_states(training)
    known = {state.name for graph in training.graphs.values() for state in graph.states}
    named = (*training.weights, *training.buffers, *training.moments, *training.statistics)
    for name in set(named) - known:
        yield f"no graph has a state '{name}'"
    for state in training.infer.states if training.infer else ():
        if state.name in training.learned and state.after != state.before:
            yield f"infer changes '{state.name}'"


def _unlike_states(training: Training) -> Iterator[str]:
    seen: dict[str, State] = {}
    for which, graph in training.graphs.items():
        for state in graph.states:
            other = seen.setdefault(state.name, state)
            if type_of(state.initial) != type_of(other.initial) or state.initial.tobytes() != other.initial.tobytes():
                yield f"state '{state.name}' of {which} is not that of another graph"


def _unused(hint: str, taken: Mapping[str, TensorType]) -> str:
    name, number = hint, 1
    while name in taken:
        number += 1
        name = f"{hint}_{number}"
    return name

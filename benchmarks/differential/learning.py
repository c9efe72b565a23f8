"""Whether a network learns as it should on a machine: a few steps and updates, then an inference.

The training graphs in double are held to PyTorch, which computes in double too. Numpy's run of the quantised graphs and
the C are held to the training graphs in double, by how far 32-bit floats are off them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from benchmarks.differential.case import Case
from tests.support.double import evaluated

import tilewright as tw
from tilewright.frontends import parameters
from tilewright.ir.evaluate import evaluate, states_after
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.target.settings import Settings
from tilewright.training.graphs import Training
from tilewright.training.loop import run
from tilewright.training.losses import CrossEntropy, Loss, MeanSquares
from tilewright.training.making import Recipe, make_training
from tilewright.training.program import TrainingProgram, compiled

FLOATS = 1e-4
"""What may be off: of how far the weight moves that moves most, or of the largest element of anything else."""
ROUNDED = 2e-6
"""The same of the largest element of a weight."""
TIMES = 16
"""What the C may be off as a multiple of what numpy in float32 is: it adds in another order."""
WEIGHT = "weight/"

Numbers = Mapping[str, Array]


@dataclass(frozen=True)
class Lesson:
    """What is learned, from what."""

    training: Training
    steps: Sequence[Mapping[str, Array]]
    accumulated: int

    def computed(self, graphs: Mapping[str, Graph], dtype: type) -> dict[str, Array]:
        """Losses, what was learned, and the last inference, by numpy."""
        train, update, infer = (graphs[which] for which in ("train", "update", "infer"))
        states = {name: _as(dtype, state.initial) for name, state in self.training.states.items()}
        losses = []
        for number, inputs in enumerate(self.steps):
            losses.append(_called(train, inputs, states, dtype)[train.outputs[0]].reshape(-1)[0])
            if (number + 1) % self.accumulated == 0:
                _called(update, {}, states, dtype)
        last = _called(infer, self.steps[-1], states, dtype)[infer.outputs[0]]
        return _numbers(losses, {name: states[name] for name in self.training.learned}, last)

    def on_target(self, program: TrainingProgram) -> dict[str, Array]:
        session = program.session()
        found = run(session, self.steps, self.accumulated)
        infer = self.training.graphs["infer"]
        last = session.infer({name: self.steps[-1][name] for name in infer.inputs})
        return _numbers(found.losses, found.weights, last.outputs[infer.output_names[0]])

    def apart(self, found: Numbers, wanted: Numbers, beside: Numbers) -> Iterator[str]:
        """What is further from what is wanted than rounding explains; `beside` is wanted as well, in 32 bits."""
        moved = max((self._moved(name, wanted[name]) for name in wanted if name.startswith(WEIGHT)), default=0.0)
        for name in found.keys() & wanted.keys():
            far, rounding = (_distance(one, wanted[name]) for one in (found[name], beside[name]))
            allowed = max(self._allowed(name, wanted[name], moved), TIMES * rounding)
            if far > allowed:
                yield f"{name} {far:g} off, {allowed:g} allowed"

    def _allowed(self, name: str, wanted: Array, moved: float) -> float:
        """Gradients that are zero but for rounding, as in front of a normalisation, are as exact as the largest."""
        if not name.startswith(WEIGHT):
            return FLOATS * max(_largest(wanted), 0.01)
        return FLOATS * moved + ROUNDED * _largest(wanted)

    def _moved(self, name: str, wanted: Array) -> float:
        state = self.training.states.get(name.removeprefix(WEIGHT))
        return 0.0 if state is None else _distance(wanted, state.initial)


def problems(case: Case, target: str, settings: Settings) -> Iterator[str]:
    recipe = case.recipe
    training = make_training(parameters.load(case.proto).graph, _recipe(recipe), recipe["weights"])
    arrays = zip(*case.feeds.values(), strict=True)
    lesson = Lesson(
        training, [dict(zip(training.train.inputs, step, strict=True)) for step in arrays], recipe["accumulate"]
    )
    double, single = (lesson.computed(training.graphs, dtype) for dtype in (np.float64, np.float32))
    wanted = recipe["learning"] or recipe["weights"]
    yield from (f"{name} does not learn" for name in wanted if name not in training.weights)
    yield from (f"in double beside PyTorch: {what}" for what in lesson.apart(double, case.expected, case.expected))
    program = compiled(training, target, settings=replace(settings, threads=1))
    quantised = {which: network.quantised for which, network in program.learner.networks.items()}
    by_numpy = lesson.computed(quantised, np.float32)
    yield from (f"numpy beside double: {what}" for what in lesson.apart(by_numpy, double, single))
    yield from (f"beside double: {what}" for what in lesson.apart(lesson.on_target(program), double, single))


def _recipe(given: Mapping[str, Any]) -> Recipe:
    kind, options = given["optimizer"]
    loss: Loss = MeanSquares()
    if given["loss"] == "cross_entropy":
        loss = CrossEntropy(tuple(given["class_weights"]), smoothing=given["smoothing"])
    learning = tuple(given["learning"]) or "all"
    optimizer, in_place = getattr(tw, kind)(**options), given.get("in_place", False)
    return Recipe(loss, optimizer, learning, given["accumulate"], given["statistics"], in_place=in_place)


def _numbers(losses: Sequence[float], weights: Numbers, inference: Array) -> dict[str, Array]:
    of_weights = {WEIGHT + name: value for name, value in weights.items()}
    return {"losses": np.array(losses, np.float64), "inference": inference, **of_weights}


def _called(graph: Graph, inputs: Numbers, states: dict[str, Array], dtype: type) -> Numbers:
    """All tensors of a call, which changes the states."""
    if dtype is np.float64:
        values = evaluated(graph, {**inputs, **{state.before: states[state.name] for state in graph.states}})
    else:
        values = evaluate(graph, inputs, states)
    states |= states_after(graph, values)
    return values


def _as(dtype: type, value: Array) -> Array:
    return value.astype(dtype) if value.dtype.kind == "f" else value


def _distance(one: Array, other: Array) -> float:
    apart = np.abs(one.astype(np.float64).reshape(-1) - other.astype(np.float64).reshape(-1))
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))


def _largest(array: Array) -> float:
    return float(np.abs(array).max(initial=0.0))

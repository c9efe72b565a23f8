"""`tw.train`: from a model to a program that learns, and from what it has learned to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tilewright import export
from tilewright.errors import CompileError
from tilewright.ir.arrays import Given
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph, rebuild
from tilewright.ir.types import Array
from tilewright.target.settings import DEFAULT, Settings
from tilewright.training.labels import check_labels
from tilewright.training.losses import Loss, added, compared, loss_of
from tilewright.training.making import Recipe, make_training
from tilewright.training.optimizers import SGD, Optimizer
from tilewright.training.program import TrainingProgram, compiled, in_bytes
from tilewright.training.reading import check_batch, read
from tilewright.training.recipes import learned
from tilewright.training.session import NotFinite, Session


@dataclass(frozen=True)
class Fitted:
    """What a fit has learned."""

    losses: tuple[float, ...]
    """Of each step."""
    held_out: tuple[float, ...]
    """The mean loss of what is held out, behind each epoch."""
    weights: Mapping[str, Array]
    """Those behind the epoch with the smallest loss of what is held out; without that, the last ones."""
    epochs: int
    """How many were run."""


def check_epochs(epochs: int, patience: int, is_held_out: bool) -> None:
    for name, value, least in (("epochs", epochs, 1), ("patience", patience, 0)):
        if value < least:
            raise CompileError(f"{name} {value}", f"is less than {least}", f"use {least} or more")
    if patience and not is_held_out:
        raise CompileError(f"patience {patience}", "there is no held-out set", "add held_out=(samples, labels)")


@dataclass(frozen=True)
class NetworkTraining(TrainingProgram):
    """A network that learns: run it, fit it, export it, save its C."""

    recipe: Recipe = field(default_factory=Recipe)

    def fit(
        self, x: Array, labels: Array, *, epochs: int = 1, held_out: tuple[Array, Array] | None = None,
        patience: int = 0, shuffle: int | None = 0, cc: str | None = None, told: Callable[[str], None] = lambda _: None,
    ) -> Fitted:  # fmt: skip
        """Steps over all samples, in an order that the number `shuffle` decides; None keeps theirs. With `held_out` it
        stops when so many epochs (`patience`) have not made its loss smaller."""
        self._check_samples(x, labels)
        session, losses, best = self.session(cc), list[float](), self.session_weights()
        check_epochs(epochs, patience, held_out is not None)
        random = None if shuffle is None else np.random.default_rng(shuffle)
        seen: list[float] = []
        for epoch in range(epochs):
            told(f"epoch {epoch + 1} of {epochs}")
            losses += self._epoch(session, x, labels, random, len(losses))
            if held_out is None:
                best = session.weights()
                continue
            seen.append(self.loss_of(session.weights(), *held_out))
            if seen[-1] == min(seen):
                best = session.weights()
            elif patience and epoch - seen.index(min(seen)) >= patience:
                break
        return Fitted(tuple(losses), tuple(seen), best, len(seen) if held_out else epochs)

    def session_weights(self) -> dict[str, Array]:
        """The first ones."""
        training = self.learner.training
        return {name: training.states[name].initial for name in training.learned}

    def _epoch(
        self, session: Session, x: Array, labels: Array, random: np.random.Generator | None, before: int
    ) -> list[float]:
        """Steps count from the first epoch on, so that an update takes the mean of as many as it was asked to."""
        order = np.arange(len(x)) if random is None else random.permutation(len(x))
        losses: list[float] = []
        for inputs in self.batches(np.asarray(x)[order], np.asarray(labels)[order]):
            number = before + len(losses)
            check_labels(self.learner.training.train, inputs, f"step {number}")
            try:
                call = session.train(inputs)
            except NotFinite:
                hint = "use a smaller rate, and look at the data for numbers that are not finite"
                raise CompileError(f"step {number}", "the loss is not a finite number", hint) from None
            losses.append(float(np.asarray(next(iter(call.outputs.values()))).reshape(-1)[0]))
            if (number + 1) % self.recipe.accumulate == 0:
                session.update()
        return losses

    @property
    def batch(self) -> int:
        """Samples of a step."""
        train = self.learner.training.train
        return (train.types[train.inputs[0]].shape or (1,))[0]

    def _check_samples(self, x: Array, labels: Array) -> None:
        train, size = self.learner.training.train, self.batch
        shape = train.types[train.inputs[0]].shape
        if len(x) != len(labels) or len(x) < size:
            what = f"{len(x)} samples and {len(labels)} labels for batches of {size}"
            raise CompileError("fit", what, "give as many labels as samples, and at least a batch of them")
        if np.shape(x)[1:] != shape[1:]:
            what = f"samples have shape {np.shape(x)[1:]}, the network takes {shape[1:]}"
            raise CompileError("fit", what, "give samples as the network takes them, without the batch")

    def batches(self, x: Array, labels: Array) -> Iterator[dict[str, Array]]:
        """Inputs of each step; samples that do not fill a batch are left out."""
        self._check_samples(x, labels)
        train = self.learner.training.train
        data, label = train.inputs[0], train.inputs[-1]
        count, size = train.types[label].shape, self.batch
        for first in range(0, len(x) - size + 1, size):
            part = slice(first, first + size)
            yield {
                data: np.asarray(x[part], train.types[data].element),
                label: np.asarray(labels[part], train.types[label].element).reshape(count),
            }

    def loss_of(self, weights: Mapping[str, Array], x: Array, labels: Array) -> float:
        """The mean loss of samples as inference computes them, on this machine."""
        graph = _scored(self.inference(weights), self.recipe)
        label = graph.inputs[-1]
        losses = [
            float(evaluate(graph, {**inputs, label: inputs[self.learner.training.train.inputs[-1]]})[graph.outputs[0]])
            for inputs in self.batches(x, labels)
        ]
        return float(np.mean(losses))

    def inference(self, weights: Mapping[str, Array]) -> Graph:
        """The network with these weights as constants."""
        return learned(self.learner.training, weights)

    def export(self, path: str | Path, weights: Mapping[str, Array]) -> None:
        """Write the network with these weights as an ONNX model."""
        export.save(self.inference(weights), path)


def _scored(graph: Graph, recipe: Recipe) -> Graph:
    builder = rebuild(graph)
    for node in graph.nodes:
        builder.copy_node(node, graph)
    for state in graph.states:
        builder.set_next_state(state.name, state.after)
    position = graph.output_names.index(recipe.output) if recipe.output else 0
    loss = added(builder, recipe.loss, compared(graph, graph.outputs[position], recipe.loss))
    builder.output(loss, "loss")
    return builder.build()


def train(
    model: Any, example_inputs: Given | None = None, *, loss: str | Loss = "cross_entropy",
    optimizer: Optimizer | None = None, trainable: str | Sequence[str] = "all", batch: int | None = None,
    accumulate: int = 1, target: str = "generic", class_weights: Sequence[float] = (), statistics: str = "frozen",
    dropout: Mapping[str, float] | bool = True, seed: int = 0, output: str = "", name: str = "", ram: str = "",
    settings: Settings = DEFAULT, **said: Any,
) -> NetworkTraining:  # fmt: skip
    """A program that trains a model where it will run. `dropout` is that of the model, none, or shares by tensor."""
    found = read(model, example_inputs, batch, said)
    drops = dropout if isinstance(dropout, Mapping) else found.dropped if dropout else {}
    recipe = Recipe(
        loss_of(loss, class_weights), optimizer or SGD(), trainable, accumulate, statistics, drops, seed, output
    )  # fmt: skip
    training = make_training(found.graph, recipe, found.learning)
    check_batch(training.train, batch)
    made = compiled(training, target, name, settings, in_bytes(ram))
    return NetworkTraining(made.learner, made.settings, made.recomputed, recipe)

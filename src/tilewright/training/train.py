"""`tw.train`: from a model to a program that learns, and from what it has learned to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tilewright import export
from tilewright.errors import CompileError
from tilewright.ir.arrays import Given
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph, rebuild
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.target.settings import DEFAULT, Settings
from tilewright.training.fitting import Fitted, Fitting, fit
from tilewright.training.labels import check_labels
from tilewright.training.losses import CrossEntropy, Loss, added, compared, loss_of
from tilewright.training.making import Recipe, make_training
from tilewright.training.optimizers import SGD, Optimizer
from tilewright.training.program import TrainingProgram, compiled, in_bytes
from tilewright.training.reading import check_batch, read
from tilewright.training.recipes import learned, read_model
from tilewright.training.samples import Samples


@dataclass(frozen=True)
class NetworkTraining(TrainingProgram):
    """A network that learns: run it, fit it, export it, save its C."""

    recipe: Recipe = field(default_factory=Recipe)

    def fit(
        self, x: Array, labels: Array, *, epochs: int = 1, held_out: tuple[Array, Array] | None = None,
        patience: int = 0, shuffle: int | None = 0, cc: str | None = None, told: Callable[[str], None] = lambda _: None,
    ) -> Fitted:  # fmt: skip
        """Steps over all samples, in an order that the number `shuffle` decides; None keeps theirs. With `held_out` it
        stops after `patience` epochs without a smaller loss."""
        samples, held = self._samples(x, labels), None if held_out is None else self._samples(*held_out)
        asked = Fitting(epochs, self.recipe.accumulate, patience, shuffle, checked=0)
        return self.fit_samples(samples, held, asked, told, cc)

    def fit_samples(
        self, samples: Samples, held: Samples | None, asked: Fitting, told: Callable[[str], None] = lambda _: None,
        cc: str | None = None,
    ) -> Fitted:  # fmt: skip
        """Epochs over samples. With `held` samples, the weights behind the epoch with their smallest loss."""
        asked.check(held is not None)
        told("compiling the C")
        return fit(self.session(cc), samples, asked, None if held is None else partial(self._judged, held), told)

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

    def _samples(self, x: Array, labels: Array) -> Samples:
        """In the types of a step's inputs."""
        self._check_samples(x, labels)
        train = self.learner.training.train
        data, label = train.inputs[0], train.inputs[-1]
        count = train.types[label].shape or (1,)
        targets = np.asarray(labels, train.types[label].element)
        arrays = {data: np.asarray(x, train.types[data].element), label: targets.reshape(len(labels), *count[1:])}
        check_labels(train, arrays, "labels")
        return Samples(arrays, self.batch)

    def batches(self, x: Array, labels: Array) -> Iterator[dict[str, Array]]:
        """Inputs of each step; samples that do not fill a batch are left out."""
        samples = self._samples(x, labels)
        for chosen in samples.batches():
            yield samples.step(chosen, self.learner.training.train)

    def loss_of(self, weights: Mapping[str, Array], x: Array, labels: Array) -> float:
        """The mean loss of samples as inference computes them, on this machine."""
        return self._judged(self._samples(x, labels), weights)[0]

    def _judged(self, held: Samples, weights: Mapping[str, Array]) -> tuple[float, float | None]:
        """The mean loss, and the share of labels that are found, if there are any."""
        graph, scores = _scored(self.inference(weights), self.recipe)
        train, losses, right = self.learner.training.train, list[float](), list[float]()
        for chosen in held.batches():
            inputs = held.step(chosen, train)
            label = inputs.pop(train.inputs[-1])
            values = evaluate(graph, {**inputs, graph.inputs[-1]: label})
            losses.append(float(values[graph.outputs[0]]))
            if isinstance(self.recipe.loss, CrossEntropy):
                found = values[scores].argmax(self.recipe.loss.axis)
                right.append(float((found.reshape(label.shape) == label).mean()))
        return float(np.mean(losses)), float(np.mean(right)) if right else None

    def inference(self, weights: Mapping[str, Array]) -> Graph:
        """The network with these weights as constants."""
        return learned(self.learner.training, weights)

    def export(self, path: str | Path, weights: Mapping[str, Array]) -> None:
        """Write the network with these weights as an ONNX model."""
        export.save(self.inference(weights), path)


def _scored(graph: Graph, recipe: Recipe) -> tuple[Graph, str]:
    """The network with its loss as its only result, and the tensor that this is taken of."""
    builder = rebuild(graph)
    for node in graph.nodes:
        builder.copy_node(node, graph)
    for state in graph.states:
        builder.set_next_state(state.name, state.after)
    position = graph.output_names.index(recipe.output) if recipe.output else 0
    scores = compared(graph, graph.outputs[position], recipe.loss)
    builder.output(added(builder, recipe.loss, scores), "loss")
    return builder.build(), scores


def train_file(
    model: Path, loss: str, optimizer: str, trainable: str = "all", batch: int | None = None, accumulate: int = 1,
    options: Mapping[str, Any] | None = None, seed: int = 0, target: str = "generic", name: str = "",
    settings: Settings = DEFAULT, ram: int | None = None, in_place: bool = False,
) -> NetworkTraining:  # fmt: skip
    """A network that is a file, and words of the command line."""
    training, recipe = read_model(model, loss, optimizer, trainable, batch, accumulate, options, seed, in_place)
    made = compiled(training, target, name, settings, ram)
    return NetworkTraining(made.learner, made.settings, made.recomputed, made.kept, recipe)


def train(
    model: Any, example_inputs: Given | None = None, *, loss: str | Loss = "cross_entropy",
    optimizer: Optimizer | None = None, trainable: str | Sequence[str] = "all", batch: int | None = None,
    accumulate: int = 1, target: str = "generic", class_weights: Sequence[float] = (), statistics: str = "frozen",
    dropout: Mapping[str, float] | bool = True, seed: int = 0, output: str = "", name: str = "", ram: str = "",
    in_place: bool = False, settings: Settings = DEFAULT, **said: Any,
) -> NetworkTraining:  # fmt: skip
    """A program that trains a model on the target (docs/training.md).

    `dropout` keeps the model's own (True), turns it off (False), or gives a rate for each tensor by name. `in_place`
    updates the weights within each step, so that no gradients are kept: for `accumulate=1`.
    """
    found = read(model, example_inputs, batch, said)
    drops = dropout if isinstance(dropout, Mapping) else found.dropped if dropout else {}
    recipe = Recipe(
        loss_of(loss, class_weights), optimizer or SGD(), trainable, accumulate, statistics, drops, seed,
        output, in_place,
    )  # fmt: skip
    training = make_training(found.graph, recipe, found.learning)
    check_batch(training.train, batch)
    made = compiled(training, target, name, settings, in_bytes(ram))
    return NetworkTraining(made.learner, made.settings, made.recomputed, made.kept, recipe)

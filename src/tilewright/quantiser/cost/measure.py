"""What quantisation costs: the float network and the quantised one side by side on the samples."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.errors import CompileError, InternalError
from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Node
from tilewright.ir.types import Array
from tilewright.quantiser.cost.scores import LAST, agreement, class_axis, top
from tilewright.quantiser.ranges.ranges import rounded
from tilewright.quantiser.samples.samples import Feeds, Samples
from tilewright.quantiser.samples.stream import Progress, Sequences, Walk, over_samples
from tilewright.quantiser.simulate import Simulation

Metric = Callable[[Mapping[str, Array], int], float]
"""From the outputs of one sample by name, and its number, to a figure; the mean over all samples is reported."""


EXACT_DB = 200.0
"""What is reported where there is no noise at all."""

WORST = 1e20
"""The noise over signal of what is no number any more."""

FEW = 4
"""Samples of each process on which the noise of weights is measured."""


@dataclass
class Noise:
    """Sums of squares: of a signal, and of what is wrong with it."""

    signal: float = 0.0
    error: float = 0.0

    def add(self, signal: Array, wrong: Array) -> None:
        self.signal += float(np.sum(np.square(signal, dtype=np.float64)))
        self.error += float(np.sum(np.square(wrong, dtype=np.float64)))

    def merge(self, other: Noise) -> None:
        self.signal, self.error = self.signal + other.signal, self.error + other.error

    @property
    def share(self) -> float:
        """Noise over signal, with an end: where it is no number, it is more than any."""
        return min(self.error / (self.signal or 1.0), WORST) if math.isfinite(self.error) else WORST

    @property
    def db(self) -> float:
        """The signal-to-noise ratio, with an end to either side: JSON has no infinity."""
        if self.error == 0.0:
            return EXACT_DB
        if not math.isfinite(self.error):
            # As where something is divided by what was rounded to zero.
            return -EXACT_DB
        return max(min(10 * math.log10(self.signal / self.error), EXACT_DB), -EXACT_DB) if self.signal else -EXACT_DB


@dataclass
class LayerNoise:
    """What is wrong with a result: in all, and what rounding it adds to that."""

    total: Noise = field(default_factory=Noise)
    result: Noise = field(default_factory=Noise)

    def merge(self, other: LayerNoise) -> None:
        self.total.merge(other.total)
        self.result.merge(other.result)


@dataclass
class Measured:
    layers: dict[str, LayerNoise] = field(default_factory=dict)
    """By quantised tensor."""
    weights: dict[str, Noise] = field(default_factory=dict)
    """What rounded weights add, by the results of layers."""
    outputs: dict[str, Noise] = field(default_factory=dict)
    samples: int = 0
    agreeing: float = 0.0
    """The sum over samples of the shares of rows of the first output that are largest in the same place."""
    metric_float: float = 0.0
    metric: float = 0.0
    """Sums over samples."""

    @property
    def output(self) -> Noise:
        """Of all outputs together."""
        found = Noise()
        for noise in self.outputs.values():
            found.merge(noise)
        return found

    def merge(self, other: Measured) -> None:
        for name, noise in other.layers.items():
            self.layers.setdefault(name, LayerNoise()).merge(noise)
        for mine, theirs in ((self.outputs, other.outputs), (self.weights, other.weights)):
            for name, part in theirs.items():
                mine.setdefault(name, Noise()).merge(part)
        self.samples, self.agreeing = self.samples + other.samples, self.agreeing + other.agreeing
        self.metric_float, self.metric = self.metric_float + other.metric_float, self.metric + other.metric


def measure(
    simulation: Simulation, samples: Samples, metric: Metric | None, progress: Progress, processes: int, most: int
) -> Measured:
    """Errors on at most so many samples; a metric is taken on all of them."""
    both = _SideBySide(simulation, metric)
    if samples.steps > 1:
        few = 0 if metric else max(1, most // samples.steps)
        return over_samples(Sequences(samples), Measured, both.see_sequence, "measuring", progress, processes, few)
    return over_samples(samples, Measured, both.see, "measuring", progress, processes, 0 if metric else most)


class _SideBySide:
    def __init__(self, simulation: Simulation, metric: Metric | None) -> None:
        self.simulation, self.metric, self.graph = simulation, metric, simulation.graph
        self.walk = Walk(self.graph)
        self.axis = class_axis(self.graph, self.graph.outputs[0])

    def see(self, found: Measured, number: int, feeds: Feeds) -> None:
        self._call(found, number, feeds, {})

    def see_sequence(self, found: Measured, number: int, calls: list[Feeds]) -> None:
        """Each network goes on from what it has come to itself."""
        states = dict[str, Array]()
        for at, feeds in enumerate(calls):
            states = self._call(found, number * len(calls) + at, feeds, states)

    def _call(self, found: Measured, number: int, feeds: Feeds, states: Mapping[str, Array]) -> dict[str, Array]:
        """With other states of the quantised network than of the float one; the states that it leaves."""
        floats = self.walk.values(feeds)
        values = {**floats, **states}
        self.simulation.begin(values)
        for name in self.graph.sources:
            self._compare(found, name, floats[name], values[name])
        for node in self.graph.nodes:
            results = evaluate_node(self.graph, node, floats)
            floats.update((name, value) for name, value in zip(node.outputs, results, strict=False) if name)
            self._weights(found, node, floats)
            self.simulation.step(node, values)
            for name in filter(None, node.outputs):
                self._compare(found, name, floats[name], values[name])
            self.walk.release(node, floats)
            self.walk.release(node, values)
        self._outputs(found, number, floats, values)
        return {state.before: values[state.after] for state in self.graph.states}

    def _compare(self, found: Measured, name: str, wanted: Array, got: Array) -> None:
        form = self.simulation.formats.get(name)
        if form is None:
            return
        noise = found.layers.setdefault(name, LayerNoise())
        noise.total.add(wanted, got - wanted)
        noise.result.add(wanted, rounded(wanted, form) - wanted)

    def _weights(self, found: Measured, node: Node, floats: Mapping[str, Array]) -> None:
        """What rounded weights alone would do to a layer's result."""
        weights = self.simulation.weights.get(node.key)
        if weights is not None and found.samples < FEW:
            wanted = floats[node.key]
            wrong = self.simulation.linear(node, weights, floats) - wanted
            found.weights.setdefault(node.key, Noise()).add(wanted, wrong)

    def _outputs(self, found: Measured, number: int, floats: Mapping[str, Array], values: Mapping[str, Array]) -> None:
        found.samples += 1
        names = dict(zip(self.graph.output_names, self.graph.outputs, strict=True))
        for name in scored({name: floats[tensor] for name, tensor in names.items()}):
            wanted, got = numbers(floats[names[name]]), numbers(values[names[name]])
            found.outputs.setdefault(name, Noise()).add(wanted, got - wanted)
        first = self.graph.outputs[0]
        found.agreeing += agreement(floats[first], values[first], self.axis)
        if self.metric is not None:
            given = [{name: side[tensor] for name, tensor in names.items()} for side in (floats, values)]
            found.metric_float += checked(self.metric, given[0], number)
            found.metric += checked(self.metric, given[1], number)


def scored(outputs: Mapping[str, Array]) -> list[str]:
    """The outputs whose noise counts: floats of any width; where there are none, all of them as numbers."""
    return [name for name, value in outputs.items() if value.dtype.kind not in "biu"] or [*outputs]


def numbers(output: Array) -> Array:
    """Wide enough that differences are exact."""
    return output.astype(np.float64)


def checked(metric: Metric, outputs: Mapping[str, Array], number: int) -> float:
    """The figure of one sample; what goes wrong in a user's function is said with its place."""
    try:
        value: Any = metric(outputs, number)
        figure = float(value)
    except (CompileError, InternalError):
        raise
    except (Exception, SystemExit) as error:
        # A function that ends the program would end this one without a word, or a process of it.
        last = traceback.format_exception_only(error)[-1].strip()
        raise CompileError(f"metric on sample {number}", last, "call the function with this sample's outputs") from None
    if not math.isfinite(figure):
        raise CompileError(f"metric on sample {number}", f"gives {figure}", "return a finite number")
    return figure


def accuracy(labels: Array) -> Metric:
    """Whether the first output is largest where its label says."""

    def top1(outputs: Mapping[str, Array], number: int) -> float:
        name, output = next(iter(outputs.items()))
        axis = _axis_of_labels(output, labels[number].size)
        found, wanted = top(output, axis).reshape(-1), labels[number].reshape(-1)
        if found.size != wanted.size:
            raise CompileError(
                f"labels of sample {number}", f"are {wanted.size}; output '{name}' has {found.size} rows of scores",
                "give one class for each row of the first output, or use --metric",
            )  # fmt: skip
        if output.dtype.kind in "biu":
            return float(np.mean(found == wanted))
        if wanted.min() < 0 or wanted.max() >= output.shape[axis]:
            raise CompileError(
                f"labels of sample {number}",
                f"are {wanted.min()} to {wanted.max()}; output '{name}' has classes 0 to {output.shape[axis] - 1}",
                "number the classes as the network does",
            )
        return float(np.mean(found == wanted))

    return top1


def _axis_of_labels(output: Array, count: int) -> int:
    """The last, unless there are as many labels as pixels of a picture whose channels are the classes."""
    is_picture = output.ndim > 2 and output.dtype.kind not in "biu"
    sizes = [output.size // max(output.shape[axis], 1) for axis in (LAST, 1)] if is_picture else []
    return 1 if is_picture and count == sizes[1] != sizes[0] else LAST

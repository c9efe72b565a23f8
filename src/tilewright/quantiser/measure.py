"""What quantisation costs: the float network and the quantised one side by side on the samples."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.types import Array
from tilewright.quantiser.linear import linear_layers
from tilewright.quantiser.ranges import rounded
from tilewright.quantiser.samples import Feeds, Samples
from tilewright.quantiser.simulate import Simulation
from tilewright.quantiser.stream import Progress, Walk, over_samples

Metric = Callable[[Mapping[str, Array], int], float]
"""From the outputs of one sample by name, and its number, to a figure; the mean over all samples is reported."""


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
    def db(self) -> float:
        """The signal-to-noise ratio; infinite where nothing is wrong."""
        if self.error == 0.0:
            return math.inf
        return 10 * math.log10(self.signal / self.error) if self.signal else -math.inf


@dataclass
class LayerNoise:
    """What is wrong with a result: in all, and what the layer itself adds by rounding weights and results."""

    total: Noise = field(default_factory=Noise)
    weights: Noise = field(default_factory=Noise)
    result: Noise = field(default_factory=Noise)

    def merge(self, other: LayerNoise) -> None:
        for mine, theirs in ((self.total, other.total), (self.weights, other.weights), (self.result, other.result)):
            mine.merge(theirs)


@dataclass
class Measured:
    layers: dict[str, LayerNoise] = field(default_factory=dict)
    """By quantised tensor."""
    outputs: dict[str, Noise] = field(default_factory=dict)
    samples: int = 0
    agreeing: int = 0
    """Samples whose first output is largest in the same place."""
    metric_float: float = 0.0
    metric: float = 0.0
    """Sums over samples."""

    def merge(self, other: Measured) -> None:
        for name, noise in other.layers.items():
            self.layers.setdefault(name, LayerNoise()).merge(noise)
        for name, output in other.outputs.items():
            self.outputs.setdefault(name, Noise()).merge(output)
        self.samples, self.agreeing = self.samples + other.samples, self.agreeing + other.agreeing
        self.metric_float, self.metric = self.metric_float + other.metric_float, self.metric + other.metric


def measure(
    simulation: Simulation, samples: Samples, metric: Metric | None, progress: Progress, processes: int, most: int
) -> Measured:
    """Errors on at most so many samples; a metric is taken on all of them."""
    both = _SideBySide(simulation, metric)
    return over_samples(samples, Measured, both.see, "measuring", progress, processes, 0 if metric else most)


class _SideBySide:
    def __init__(self, simulation: Simulation, metric: Metric | None) -> None:
        self.simulation, self.metric, self.graph = simulation, metric, simulation.graph
        self.walk, self.linear = Walk(self.graph), linear_layers(self.graph)

    def see(self, found: Measured, number: int, feeds: Feeds) -> None:
        floats = self.walk.values(feeds)
        values = dict(floats)
        self.simulation.begin(values)
        for name in self.graph.sources:
            self._compare(found, name, floats[name], values[name])
        for node in self.graph.nodes:
            results = evaluate_node(self.graph, node, floats)
            floats.update((name, value) for name, value in zip(node.outputs, results, strict=False) if name)
            self.simulation.step(node, values)
            for name in filter(None, node.outputs):
                self._compare(found, name, floats[name], values[name])
            self.walk.release(node, floats)
            self.walk.release(node, values)
        self._outputs(found, number, floats, values)

    def _compare(self, found: Measured, name: str, wanted: Array, got: Array) -> None:
        form = self.simulation.formats.get(name)
        if form is None and name not in self.simulation.weights:
            return
        noise = found.layers.setdefault(name, LayerNoise())
        noise.total.add(wanted, got - wanted)
        if form is not None:
            noise.result.add(wanted, rounded(wanted, form) - wanted)

    def _outputs(self, found: Measured, number: int, floats: Mapping[str, Array], values: Mapping[str, Array]) -> None:
        found.samples += 1
        names = dict(zip(self.graph.output_names, self.graph.outputs, strict=True))
        for name, tensor in names.items():
            if floats[tensor].dtype == np.float32:
                found.outputs.setdefault(name, Noise()).add(floats[tensor], values[tensor] - floats[tensor])
        first = self.graph.outputs[0]
        found.agreeing += bool(np.array_equal(_top(floats[first]), _top(values[first])))
        if self.metric is not None:
            given = [{name: side[tensor] for name, tensor in names.items()} for side in (floats, values)]
            found.metric_float += checked(self.metric, given[0], number)
            found.metric += checked(self.metric, given[1], number)


def _top(output: Array) -> Array:
    """Where each row of an output is largest."""
    return np.asarray(np.argmax(output, axis=-1) if output.ndim else output)


def checked(metric: Metric, outputs: Mapping[str, Array], number: int) -> float:
    """The figure of one sample; what goes wrong in a user's function is said with its place."""
    try:
        value: Any = metric(outputs, number)
        figure = float(value)
    except Exception as error:
        last = traceback.format_exception_only(error)[-1].strip()
        raise CompileError(f"metric on sample {number}", last, "call the function with this sample's outputs") from None
    if not math.isfinite(figure):
        raise CompileError(f"metric on sample {number}", f"gives {figure}", "return a finite number")
    return figure


def accuracy(labels: Array) -> Metric:
    """Whether the first output is largest where its label says."""

    def top1(outputs: Mapping[str, Array], number: int) -> float:
        return float(np.mean(_top(next(iter(outputs.values()))).reshape(-1) == labels[number].reshape(-1)))

    return top1

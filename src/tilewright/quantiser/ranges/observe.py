"""What samples show of a network's activations: how their values are spread, and how far each channel reaches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops.softmax import Softmax
from tilewright.quantiser.ranges.histogram import Histogram
from tilewright.quantiser.samples.samples import Feeds, Samples
from tilewright.quantiser.samples.stream import Progress, Walk, over_samples

UNHEARD = 16.0
"""How far below the largest of its row a value may be that softmax still makes anything of: exp(-16) is 1e-7. Masks put
values much lower, and a range down to there would leave no levels for the others."""


@dataclass
class Spread:
    """Histograms of tensors by name."""

    histograms: dict[str, Histogram] = field(default_factory=dict)

    def merge(self, other: Spread) -> None:
        for name, histogram in other.histograms.items():
            self.histograms.setdefault(name, Histogram()).merge(histogram)


@dataclass
class Reach:
    """The largest magnitude of each channel of tensors, by name."""

    channels: dict[str, Array] = field(default_factory=dict)

    def merge(self, other: Reach) -> None:
        for name, found in other.channels.items():
            self.channels[name] = np.maximum(self.channels.get(name, 0.0), found)


def spread_of(graph: Graph, tensors: Collection[str], samples: Samples, progress: Progress, processes: int) -> Spread:
    """The histograms of some tensors over all samples."""
    walk, axes = Walk(graph), softmax_axes(graph)

    def see(found: Spread, number: int, feeds: Feeds) -> None:
        def add(name: str, value: Array) -> None:
            if name in tensors:
                histogram = found.histograms.setdefault(name, Histogram())
                histogram.add(_checked(graph, name, heard(value, axes.get(name)), number))

        values = walk.values(feeds)
        for name in graph.sources:
            add(name, values[name])
        for node, results in walk.steps(values):
            for name, value in zip(node.outputs, results, strict=False):
                add(name, value)

    return over_samples(samples, Spread, see, "observing activations", progress, processes)


def reach_of(
    graph: Graph, tensors: Mapping[str, int], samples: Samples, progress: Progress, processes: int, most: int
) -> Reach:
    """How far the channels of some tensors reach, whose axis of channels is given."""
    walk = Walk(graph)

    def see(found: Reach, number: int, feeds: Feeds) -> None:
        for node, results in walk.steps(walk.values(feeds)):
            if node.key in tensors:
                others = tuple(axis for axis in range(results[0].ndim) if axis != tensors[node.key])
                found.merge(Reach({node.key: np.abs(results[0]).max(axis=others)}))

    return over_samples(samples, Reach, see, "observing channels", progress, processes, most)


def heard(values: Array, axis: int | None) -> Array:
    """Values as far as their reader cares: what a softmax makes zero of may be any small number."""
    return values if axis is None else np.maximum(values, values.max(axis=axis, keepdims=True) - np.float32(UNHEARD))


def softmax_axes(graph: Graph) -> dict[str, int]:
    """Tensors that only softmaxes read, and along which axis."""
    found: dict[str, int] = {}
    for tensor, readers in graph.consumers.items():
        axes = {reader.op.axis for reader in readers if isinstance(reader.op, Softmax)}
        if len(axes) == 1 and all(isinstance(reader.op, Softmax) for reader in readers) and tensor not in graph.sinks:
            found[tensor] = axes.pop()
    return found


def _checked(graph: Graph, name: str, values: Array, number: int) -> Array:
    largest = np.abs(values).max() if values.size else 0.0
    if np.isfinite(largest):
        return values
    node = graph.producers.get(name)
    wrong = values[~np.isfinite(values)]
    raise CompileError(
        node.where if node is not None else f"input '{name}'",
        f"{wrong.size} of {values.size} values are not finite on sample {number}, first {wrong.flat[0]}",
        "the float network itself gives no number here: check its weights and the sample's preprocessing",
    )

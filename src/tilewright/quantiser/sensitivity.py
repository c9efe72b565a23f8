"""How much noise each layer would bring to the outputs at every width, measured one layer at a time.

The network runs on a sample with all layers as they are. Then one layer's weights or one tensor's format is another,
and what depends on it runs again: what the outputs' noise becomes is what that width costs. Noises of different layers
add up as long as they are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.measure import Noise, numbers, scored
from tilewright.quantiser.quantise import Ready, tuning_feeds
from tilewright.quantiser.ranges import format_of_range
from tilewright.quantiser.samples import Feeds
from tilewright.quantiser.simulate import Simulation
from tilewright.quantiser.stream import Progress, Walk, affordable, over_samples, silent
from tilewright.quantiser.tune import Tuning, layers_in_turn, quantised_layer
from tilewright.quantiser.weights import QuantisedWeights
from tilewright.quantiser.widths import Width

MOST_TRIED = 16
"""Samples on which widths are tried."""

Weights = Mapping[str, QuantisedWeights]


@dataclass
class Noises:
    """What is wrong with the outputs: as the network is, and with one thing changed."""

    base: Noise = field(default_factory=Noise)
    changed: dict[tuple[str, str], Noise] = field(default_factory=dict)
    """By layer or tensor, and by its width."""

    def merge(self, other: Noises) -> None:
        self.base.merge(other.base)
        for key, noise in other.changed.items():
            self.changed.setdefault(key, Noise()).merge(noise)

    def added(self, name: str, width: str) -> float:
        """Noise over signal that a width brings, less than nothing where it helps."""
        signal = self.base.signal or 1.0
        return (self.changed[name, width].error - self.base.error) / signal


def weights_by_bits(
    ready: Ready, base: Weights, bits: Sequence[int], tuning: Tuning, progress: Progress = silent
) -> dict[int, dict[str, QuantisedWeights]]:
    """Every layer's weights at other widths, in the network as it is."""
    simulation, found = replace(ready.bare, weights=base), {count: dict[str, QuantisedWeights]() for count in bits}
    for layer, floats, quantised in layers_in_turn(simulation, base, tuning_feeds(ready), progress):
        for count in bits:
            made = quantised_layer(ready.network, layer, simulation, Width(count), floats, quantised, tuning)
            found[count][layer.node.key] = made
    return found


def noises(
    ready: Ready, base: Weights, narrow: Mapping[int, Weights], progress: Progress = silent, processes: int = 0
) -> Noises:
    """For every layer with each of the other weights, and for every tensor in 16 bits."""
    trial = _Trial(ready, replace(ready.bare, weights=base), narrow)
    most = affordable(ready.network, MOST_TRIED)
    return over_samples(ready.samples, Noises, trial.see, "trying widths", progress, processes, most)


def wide_formats(ready: Ready, leader: str) -> dict[str, Format]:
    """A tensor and those that share its format, in 16 bits."""
    seen = ready.spread.histograms[leader]
    return dict.fromkeys(ready.found.members[leader], format_of_range(seen.low, seen.high, "int16"))


class _Trial:
    def __init__(self, ready: Ready, simulation: Simulation, narrow: Mapping[int, Weights]) -> None:
        self.ready, self.simulation, self.graph = ready, simulation, ready.network
        self.changes = list(_changes(ready, simulation, narrow))
        self.after = {change.first: _descendants(self.graph, change.first) for change in self.changes}

    def see(self, found: Noises, number: int, feeds: Feeds) -> None:
        floats, base = Walk(self.graph).values(feeds), Walk(self.graph).values(feeds)
        self.simulation.begin(base)
        for node in self.graph.nodes:
            _take(node, evaluate_node(self.graph, node, floats), floats)
            self.simulation.step(node, base)
        self._add(found.base, floats, base)
        for change in self.changes:
            values = dict(base)
            if change.first not in self.graph.producers:
                values[change.first] = feeds[change.first]
                change.simulation.begin(values)
            for node in self.after[change.first]:
                change.simulation.step(node, values)
            self._add(found.changed.setdefault((change.name, change.width), Noise()), floats, values)

    def _add(self, noise: Noise, floats: Mapping[str, Array], values: Mapping[str, Array]) -> None:
        for tensor in scored({tensor: floats[tensor] for tensor in self.graph.outputs}):
            noise.add(numbers(floats[tensor]), numbers(values[tensor]) - numbers(floats[tensor]))


@dataclass(frozen=True)
class _Change:
    name: str
    width: str
    first: str
    """The tensor from which on values are others."""
    simulation: Simulation


def _changes(ready: Ready, simulation: Simulation, narrow: Mapping[int, Weights]) -> Iterator[_Change]:
    for bits, weights in narrow.items():
        for key, own in weights.items():
            changed = replace(simulation, weights={**simulation.weights, key: own})
            yield _Change(key, f"w{bits}", key, changed)
    for leader in ready.spread.histograms:
        if leader in ready.found.members and leader in simulation.formats and leader not in simulation.cells:
            formats = {**simulation.formats, **wide_formats(ready, leader)}
            yield _Change(leader, "int16", leader, replace(simulation, formats=formats))


def _descendants(graph: Graph, tensor: str) -> list[Node]:
    """What makes a tensor, and all that depends on it, in order."""
    reached, found = {tensor}, []
    for node in graph.nodes:
        if node.key == tensor or reached & set(node.inputs):
            reached.update(filter(None, node.outputs))
            found.append(node)
    return found


def _take(node: Node, results: Sequence[Array], values: dict[str, Array]) -> None:
    values.update((name, value) for name, value in zip(node.outputs, results, strict=False) if name)

"""How much noise each layer and each tensor would bring to the outputs at every width, measured one at a time.

The network runs on a sample with all layers as they are. Then one layer's weights are others, and what depends on it
runs again: what the outputs' noise becomes is what that width costs. Of tensors, one alone is rounded in the network of
floats: where several spoil the outputs each by itself, leaving one of them alone would show nothing. Noises of
different layers and tensors add up as long as they are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.quantiser.cost.measure import Noise, numbers, scored
from tilewright.quantiser.quantise import Ready, tuning_feeds
from tilewright.quantiser.rounding.tune import Tuning, layers_in_turn, quantised_layer
from tilewright.quantiser.samples.samples import Feeds
from tilewright.quantiser.samples.stream import Progress, Walk, affordable, over_samples, silent
from tilewright.quantiser.simulate import Simulation
from tilewright.quantiser.weights import QuantisedWeights
from tilewright.quantiser.width_search.decision import wide_formats
from tilewright.quantiser.widths import Width
from tilewright.records import dataclass

MOST_TRIED = 16
"""Samples on which widths are tried."""

AS_IT_IS, INT16, FLOAT = "as it is", "int16", "float"
"""Widths of tensors; a layer may also be in floats."""

Changed = tuple[str, str]
"""A layer or a tensor, and its width."""

Weights = Mapping[str, QuantisedWeights]


@dataclass
class Noises:
    """What is wrong with the outputs."""

    base: Noise = field(default_factory=Noise)
    """As the network is."""
    layers: dict[Changed, Noise] = field(default_factory=dict)
    """With one layer changed."""
    tensors: dict[Changed, Noise] = field(default_factory=dict)
    """With nothing but one tensor rounded."""

    def merge(self, other: Noises) -> None:
        self.base.merge(other.base)
        for mine, theirs in ((self.layers, other.layers), (self.tensors, other.tensors)):
            for key, noise in theirs.items():
                mine.setdefault(key, Noise()).merge(noise)

    def of_layer(self, key: str, width: str) -> float:
        """Noise over signal that a width of a layer brings, less than nothing where it helps."""
        return self.layers[key, width].share - self.base.share

    def of_tensor(self, leader: str, width: str) -> float:
        """The same of a tensor."""
        left = 0.0 if width == FLOAT else self.tensors[leader, width].share
        return left - self.tensors[leader, AS_IT_IS].share


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
    """For every layer with each of the other weights and in floats, for every tensor as it is and in 16 bits."""
    trial = _Trial(ready, replace(ready.bare, weights=base), narrow)
    most = affordable(ready.network, MOST_TRIED)
    return over_samples(ready.samples, Noises, trial.see, "trying widths", progress, processes, most)


class _Trial:
    def __init__(self, ready: Ready, simulation: Simulation, narrow: Mapping[int, Weights]) -> None:
        self.ready, self.simulation, self.graph = ready, simulation, ready.network
        self.layers = list(_layer_changes(simulation, narrow))
        self.tensors = list(_tensor_changes(ready, simulation))
        firsts = {change.firsts for change in (*self.layers, *self.tensors)}
        self.after = {tensors: _descendants(self.graph, tensors) for tensors in firsts}

    def see(self, found: Noises, number: int, feeds: Feeds) -> None:
        floats, base = Walk(self.graph).values(feeds), Walk(self.graph).values(feeds)
        self.simulation.begin(base)
        for node in self.graph.nodes:
            _take(node, evaluate_node(self.graph, node, floats), floats)
            self.simulation.step(node, base)
        self._add(found.base, floats, base)
        for change in self.layers:
            noise = found.layers.setdefault((change.name, change.width), Noise())
            self._add(noise, floats, self._changed(change, base))
        for change in self.tensors:
            noise = found.tensors.setdefault((change.name, change.width), Noise())
            self._add(noise, floats, self._changed(change, floats))

    def _changed(self, change: _Change, values: Mapping[str, Array]) -> dict[str, Array]:
        made = dict(values)
        change.simulation.begin(made)
        for node in self.after[change.firsts]:
            change.simulation.step(node, made)
        return made

    def _add(self, noise: Noise, floats: Mapping[str, Array], values: Mapping[str, Array]) -> None:
        for tensor in scored({tensor: floats[tensor] for tensor in self.graph.outputs}):
            noise.add(numbers(floats[tensor]), numbers(values[tensor]) - numbers(floats[tensor]))


@dataclass(frozen=True)
class _Change:
    name: str
    width: str
    firsts: tuple[str, ...]
    """The tensors from which on values are others."""
    simulation: Simulation


def _layer_changes(simulation: Simulation, narrow: Mapping[int, Weights]) -> Iterator[_Change]:
    weights = simulation.weights
    for bits, others in narrow.items():
        for key, own in others.items():
            yield _Change(key, f"w{bits}", (key,), replace(simulation, weights={**weights, key: own}))
    for key in weights:
        kept = {name: own for name, own in weights.items() if name != key}
        yield _Change(key, FLOAT, (key,), replace(simulation, weights=kept))


def _tensor_changes(ready: Ready, simulation: Simulation) -> Iterator[_Change]:
    for leader in ready.spread.histograms:
        if leader in ready.found.members and leader in simulation.formats and leader not in simulation.cells:
            members = tuple(ready.found.members[leader])
            own = {name: simulation.formats[name] for name in members}
            for width, formats in ((AS_IT_IS, own), (INT16, wide_formats(ready, leader))):
                yield _Change(leader, width, members, Simulation(simulation.graph, formats, {}))


def _descendants(graph: Graph, tensors: Sequence[str]) -> list[Node]:
    """What makes some tensors, and all that depends on them, in order."""
    reached, found = {*tensors}, []
    for node in graph.nodes:
        if node.key in tensors or reached & set(node.inputs):
            reached.update(filter(None, node.outputs))
            found.append(node)
    return found


def _take(node: Node, results: Sequence[Array], values: dict[str, Array]) -> None:
    values.update((name, value) for name, value in zip(node.outputs, results, strict=False) if name)

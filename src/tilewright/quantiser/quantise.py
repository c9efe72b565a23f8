"""The quantiser, in a straight line: prepare, observe, choose ranges, round weights, insert quantisers, measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tilewright.ir.graph import Graph, Node
from tilewright.ops._normalisation import RowNormalisation
from tilewright.ops.add import Add
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.balance import balanced
from tilewright.quantiser.cells import OUTPUTS, CellLayer, QuantisedCells, cell_layers, memories
from tilewright.quantiser.cost.in_c import measured_in_c
from tilewright.quantiser.cost.measure import Measured, Metric, measure
from tilewright.quantiser.cost.reporting import Report, report_of
from tilewright.quantiser.insert import with_quantisers
from tilewright.quantiser.linear import linear_layer, linear_layers
from tilewright.quantiser.prepare.places import Places, layer_of, places
from tilewright.quantiser.prepare.prepare import prepared
from tilewright.quantiser.prepare.wide import wide_tensors
from tilewright.quantiser.ranges.choose import Chosen, chosen_formats
from tilewright.quantiser.ranges.observe import Spread, spread_of
from tilewright.quantiser.rounding.tune import Tuning, tuned_weights
from tilewright.quantiser.samples.blas_threads import one_thread
from tilewright.quantiser.samples.samples import Feeds, Samples, samples_of
from tilewright.quantiser.samples.sequences import with_states
from tilewright.quantiser.samples.stream import Progress, affordable, silent
from tilewright.quantiser.simulate import Simulation
from tilewright.quantiser.weights import QuantisedWeights
from tilewright.quantiser.widths import ALL_EIGHT, Width, Widths
from tilewright.records import dataclass

SMALL_OUTPUT = 1024
"""Elements of an output for which twice the bytes do not matter."""
TRIED = 64
"""Samples on which ranges are tried, if the network is small."""
MOST_MEASURED = 128
"""Samples on which errors are measured if there is no metric."""
MOST_TUNED, TUNING_BYTES = 64, 256 * 2**20
"""Samples that weights are rounded on, and the memory that they may take."""


@dataclass(frozen=True)
class Options:
    widths: Widths = ALL_EIGHT
    choose_ranges: bool = True
    """By measured error; without it ranges are all that the samples show."""
    balance: bool = True
    """Equalise and smooth channels between layers."""
    correct_bias: bool = True
    learn_rounding: bool = False
    short_factors: bool = True
    """Scales of weights that hardware requantises by exactly, where that costs no accuracy."""
    fine_outputs: bool = True
    """16 bits for what a layer gives as a small output of the network, where a width is not given: two scores within
    one step of bytes are often those that decide."""
    wide: bool = False
    """16 bits for the residual stream and the rows that are rotated of decoders, and with `wide_attention` ..."""
    wide_attention: bool = True
    """... for the scores and keys of their attention."""
    fine_sums: bool = True
    """16 bits for sums that a normalisation reads, likewise: all layers of a transformer add their rounding to them."""
    integer_cells: bool = True
    """LSTM and GRU in integers, which no ONNX file can say."""
    run_c: bool = False
    """Measure the network as C on this machine too."""
    processes: int = 0
    """As many as there are cores if 0."""


DEFAULT = Options()
GIVEN_UP = "rounding is not learned: all layers together would be worse for it"


@dataclass(frozen=True)
class Quantised:
    graph: Graph
    """With quantisers; as an integer network that is what `passes/quantise` makes of it."""
    report: Report

    def __str__(self) -> str:
        return str(self.report)


@dataclass(frozen=True)
class Ready:
    """All that is decided before weights are rounded."""

    samples: Samples
    found: Places
    spread: Spread
    chosen: Mapping[str, Chosen]
    bare: Simulation
    """Without weights."""
    widths: Mapping[str, Width]
    """Of the layers whose weights are quantised."""

    @property
    def network(self) -> Graph:
        return self.bare.graph


def quantise(
    graph: Graph, samples: Any, options: Options = DEFAULT, metric: Metric | None = None, progress: Progress = silent
) -> Quantised:
    """A float network in integers, with ranges from samples of its inputs."""
    with one_thread():
        return finished(observed(graph, samples, options, progress), options, metric, progress)


def finished(ready: Ready, options: Options, metric: Metric | None = None, progress: Progress = silent) -> Quantised:
    """Weights rounded, quantisers in place, and what that costs."""
    simulation, measured = best_rounding(ready, options, metric, progress)
    made, has_metric = with_quantisers(simulation), metric is not None
    report = report_of(simulation, ready.found, made, ready.spread, ready.chosen, ready.widths, measured, has_metric)
    found = Quantised(made, report)
    return measured_as_c(found, ready, metric, progress) if options.run_c else found


def best_rounding(
    ready: Ready, options: Options, metric: Metric | None, progress: Progress
) -> tuple[Simulation, Measured]:
    """What is learned is better in every layer; where it is not in all of them together, it is given up."""
    tried = [options, replace(options, learn_rounding=False)] if options.learn_rounding else [options]
    made = [with_weights(ready, rounded_weights(ready, one, progress)) for one in tried]
    count = options.processes
    each = [(one, measure(one, ready.samples, metric, progress, count, MOST_MEASURED)) for one in made]
    best, measured = min(each, key=lambda found: found[1].output.share)
    return best if best is made[0] else _noted(best, GIVEN_UP), measured


def _noted(simulation: Simulation, note: str) -> Simulation:
    graph = simulation.graph
    return replace(simulation, graph=replace(graph, notes=(*graph.notes, note)))


def measured_as_c(found: Quantised, ready: Ready, metric: Metric | None, progress: Progress) -> Quantised:
    """With what the network's C gives on the samples."""
    in_c = measured_in_c(ready.network, found.graph, ready.samples, metric, progress, MOST_MEASURED)
    return replace(found, report=replace(found.report, in_c=in_c))


def observed(graph: Graph, samples: Any, options: Options = DEFAULT, progress: Progress = silent) -> Ready:
    """The network prepared, and the formats of its tensors."""
    given = samples_of(graph, samples)
    network = prepared(graph)
    options.widths.check({*network.types} - {*network.constants} | {node.name for node in network.nodes})
    given = with_states(network, given, progress)
    if options.balance:
        network = balanced(network, given, options.widths, progress, options.processes)
        given = with_states(network, given, progress)
    layers = cell_layers(network) if options.integer_cells else {}
    found = _placed(network, options.widths, layers)
    leaders = set(found.leaders.values())
    spread = spread_of(network, leaders, given, progress, options.processes)
    widths = _widened(network, found, options)
    dtypes = {leader: _dtype(network, found, replace(options, widths=widths), leader) for leader in leaders}
    few = given.spread(affordable(network, TRIED))
    tried = few if options.choose_ranges else []
    chosen = chosen_formats(network, found, spread, dtypes, dict.fromkeys(layers, OUTPUTS), tried, progress)
    bare = _simulation(network, {tensor: choice.format for tensor, choice in chosen.items()}, layers, few)
    return Ready(given, found, spread, chosen, bare, _layer_widths(bare, widths))


def with_weights(ready: Ready, weights: Mapping[str, QuantisedWeights]) -> Simulation:
    """The network with the weights of those layers whose weights are quantised."""
    return replace(ready.bare, weights={key: own for key, own in weights.items() if key in ready.widths})


def rounded_weights(ready: Ready, options: Options, progress: Progress = silent) -> dict[str, QuantisedWeights]:
    tuning = Tuning(options.learn_rounding, options.correct_bias, options.short_factors)
    return tuned_weights(ready.bare, ready.widths, tuning_feeds(ready), tuning, progress)


def tuning_feeds(ready: Ready) -> list[Feeds]:
    """As many samples as their activations fit the memory for them."""
    graph = ready.network
    largest = sorted((kind.bytes for name, kind in graph.types.items() if name not in graph.constants), reverse=True)
    alive = 2 * sum(largest[:4]) or 1
    return ready.samples.spread(max(2, min(MOST_TUNED, TUNING_BYTES // alive)))


def _simulation(
    graph: Graph, formats: Mapping[str, Format], layers: Mapping[str, CellLayer], few: list[Feeds]
) -> Simulation:
    """Before weights are rounded."""
    memory = memories(graph, layers, few)
    cells = {
        key: QuantisedCells(layer, graph.types[layer.source], formats[layer.source], memory[key])
        for key, layer in layers.items()
    }
    return Simulation(graph, formats, {}, cells)


def _placed(graph: Graph, widths: Widths, cells: Mapping[str, CellLayer]) -> Places:
    floats = {node.key for node in graph.nodes if widths.of(node.key, node.name).is_float}
    return places(graph, floats, cells)


def _widened(graph: Graph, found: Places, options: Options) -> Widths:
    """With 16 bits where decoders need them, unless something else is said of a tensor."""
    if not options.wide:
        return options.widths
    own = {
        tensor: replace(options.widths.of(tensor, graph.producers[tensor].name), activations="int16")
        for tensor in wide_tensors(graph, found, options.wide_attention)
        if tensor in graph.producers and not {tensor, graph.producers[tensor].name} & set(options.widths.layers)
    }
    return replace(options.widths, layers={**options.widths.layers, **own})


def _dtype(graph: Graph, found: Places, options: Options, tensor: str) -> str:
    """A result has the width of the layer that it is of, by any name of that."""
    nodes, widths = layer_of(graph, found, tensor), options.widths
    width = widths.of(tensor, *(name for node in nodes for name in (node.key, node.name)))
    if width is not widths.default or width.activations != "int8":
        return width.activations
    fine = options.fine_outputs and _is_small_output(graph, nodes, tensor)
    return "int16" if fine or (options.fine_sums and _is_normalised_sum(graph, tensor)) else width.activations


def _is_normalised_sum(graph: Graph, tensor: str) -> bool:
    node = graph.producers.get(tensor)
    readers = graph.consumers.get(tensor, ())
    return node is not None and isinstance(node.op, Add) and any(isinstance(r.op, RowNormalisation) for r in readers)


def _is_small_output(graph: Graph, nodes: Sequence[Node], tensor: str) -> bool:
    if tensor not in graph.outputs or graph.consumers.get(tensor) or graph.types[tensor].elements > SMALL_OUTPUT:
        return False
    return any(linear_layer(graph, node) is not None for node in nodes)


def _layer_widths(simulation: Simulation, widths: Widths) -> dict[str, Width]:
    """Of the layers whose weights are quantised: those that read integers, but for those that are part of cells."""
    parts = {cells.layer.product.node.key for cells in simulation.cells.values()}
    layers = {key: layer for key, layer in linear_layers(simulation.graph).items() if key not in parts}
    found = {key: widths.of(key, one.node.name) for key, one in layers.items() if one.source in simulation.formats}
    return {key: width for key, width in found.items() if not width.is_float}


__all__ = ["Chosen", "Options", "Quantised", "Report", "quantise"]

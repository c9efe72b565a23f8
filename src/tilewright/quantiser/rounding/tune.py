"""Weights are rounded layer by layer, each knowing what the layers before it have made of the samples.

The float network and the one quantised so far run side by side. A layer sees what its inputs really will be: its
rounding can be learned from them, and its bias takes back what it would be wrong by on average.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.clip import Clip
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.linear import LinearLayer, channels_of, linear_layer, takes_bias
from tilewright.quantiser.rounding.learning import Moments, Rounding, learned_rounding, moments_of
from tilewright.quantiser.rounding.short_factors import Ends, short_scales
from tilewright.quantiser.samples.samples import Feeds
from tilewright.quantiser.samples.stream import Progress, Walk
from tilewright.quantiser.simulate import Simulation
from tilewright.quantiser.weights import QuantisedWeights, nearest, row_scales
from tilewright.quantiser.widths import Width
from tilewright.records import dataclass

MOST_COLUMNS = 4096
"""Of a matrix of moments: more would take longer than it is worth."""

MOST_POSITIONS = 4096
"""Of one sample, for moments."""


Values = dict[str, Array]
"""Tensors by name."""


@dataclass(frozen=True)
class Tuning:
    learn_rounding: bool = False
    correct_bias: bool = True
    short_factors: bool = True
    """Scales of weights that hardware requantises by exactly."""


def tuned_weights(
    bare: Simulation, widths: Mapping[str, Width], feeds: list[Feeds], tuning: Tuning, progress: Progress
) -> dict[str, QuantisedWeights]:
    """The weights of every layer in `widths`, by their results; `bare` has none yet."""
    found: dict[str, QuantisedWeights] = {}
    simulation = replace(bare, weights=found)
    for layer, floats, quantised in layers_in_turn(simulation, widths, feeds, progress):
        key = layer.node.key
        found[key] = quantised_layer(bare.graph, layer, simulation, widths[key], floats, quantised, tuning)
    return found


def layers_in_turn(
    simulation: Simulation, keys: Collection[str], feeds: list[Feeds], progress: Progress
) -> Iterator[tuple[LinearLayer, list[Values], list[Values]]]:
    """Layers in order, each with what there is of every sample when it is reached: in floats, where it has run, and
    quantised, where it runs as soon as the caller is done with it."""
    graph, walk = simulation.graph, Walk(simulation.graph)
    floats = [walk.values(one) for one in feeds]
    quantised = [dict(values) for values in floats]
    for values in quantised:
        simulation.begin(values)
    for number, node in enumerate(graph.nodes):
        progress("rounding weights", number, len(graph.nodes))
        for values in floats:
            results = evaluate_node(graph, node, values)
            values.update((name, value) for name, value in zip(node.outputs, results, strict=False) if name)
        layer = linear_layer(graph, node) if node.key in keys else None
        if layer is not None:
            yield layer, floats, quantised
        for values in quantised:
            simulation.step(node, values)
        for values in (*floats, *quantised):
            walk.release(node, values)


def quantised_layer(
    graph: Graph, layer: LinearLayer, simulation: Simulation, width: Width, floats: list[dict[str, Array]],
    quantised: list[dict[str, Array]], tuning: Tuning,
) -> QuantisedWeights:  # fmt: skip
    inputs = [values[layer.source] for values in quantised]
    weights = _rounded(layer, width, inputs, _Formats.of(simulation, layer), tuning)
    if layer.bias is None and any(layer.node.inputs[2:]):
        return weights
    if not takes_bias(layer) or not tuning.correct_bias:
        return weights
    return _corrected(graph, layer, weights, simulation, floats, quantised)


@dataclass(frozen=True)
class _Formats:
    """Of what a layer reads, and of its result if that is rounded right behind it or a clamp."""

    source: Format
    result: Format | None

    @classmethod
    def of(cls, simulation: Simulation, layer: LinearLayer) -> _Formats:
        return cls(simulation.formats[layer.source], _format_of_result(simulation, layer.node))

    @property
    def steps(self) -> tuple[float, float]:
        return self.source.scale, 0.0 if self.result is None else self.result.scale

    def ends(self, layer: LinearLayer) -> Ends | None:
        """If bytes become bytes by one factor for each channel."""
        op, result = layer.node.op, self.result
        if result is None or {self.source.dtype, result.dtype} != {"int8"} or not layer.has_own_scales:
            return None
        if isinstance(op, MatMul) and (op.alpha, op.beta) != (1.0, 1.0):
            return None
        return Ends(self.source, result, layer.bias)


def _rounded(
    layer: LinearLayer, width: Width, inputs: list[Array], formats: _Formats, tuning: Tuning
) -> QuantisedWeights:
    rows, bits = layer.rows(layer.weights).astype(np.float64), width.weights
    importance = _importance(layer, inputs) if layer.has_rows else None
    ends = formats.ends(layer) if tuning.short_factors else None

    def fit(scales: Array) -> Array:
        return scales if ends is None else short_scales(rows, scales, bits, importance, ends)

    scales = fit(row_scales(rows, bits, importance, layer.bias, *formats.steps))
    made = Rounding(nearest(rows, scales, bits), scales)
    if tuning.learn_rounding and layer.has_rows and rows.shape[1] <= MOST_COLUMNS:
        made = learned_rounding(rows, scales, bits, _moments(layer, inputs), fit)
    return QuantisedWeights(layer.unrows(made.levels), made.scales, layer.channel_axis, layer.bias)


def _format_of_result(simulation: Simulation, node: Node) -> Format | None:
    """How the results of a layer are rounded, maybe after a clamp; None where they are not."""
    name, graph = node.key, simulation.graph
    while name not in simulation.formats:
        readers = graph.consumers.get(name, [])
        if len(readers) != 1 or not isinstance(readers[0].op, Relu | Clip):
            return None
        name = readers[0].key
    return simulation.formats[name]


def _importance(layer: LinearLayer, inputs: list[Array]) -> Array | None:
    """How much a column matters: the mean square of what it multiplies. Groups are taken together."""
    each = [np.square(columns).sum(axis=1) for columns in _columns(layer, inputs)]
    total = np.asarray(np.sum(each, axis=0).mean(axis=0), np.float64)
    return total + 1e-3 * total.mean() if total.any() else None


def _moments(layer: LinearLayer, inputs: list[Array]) -> Moments:
    return moments_of(columns.swapaxes(1, 2) @ columns for columns in _columns(layer, inputs))


def _columns(layer: LinearLayer, inputs: list[Array]) -> Iterator[Array]:
    """Of each sample [groups, positions, columns], not more positions than tell something new."""
    for x in inputs:
        columns = layer.columns(x)
        step = max(1, columns.shape[1] // MOST_POSITIONS)
        yield columns[:, ::step].astype(np.float64)


def _corrected(
    graph: Graph, layer: LinearLayer, weights: QuantisedWeights, simulation: Simulation,
    floats: list[dict[str, Array]], quantised: list[dict[str, Array]],
) -> QuantisedWeights:  # fmt: skip
    """With a bias that makes the mean of every channel what it is in floats, as far as the samples are sure of it."""
    node = layer.node
    wrong = np.stack([
        layer.channel_means(f[node.key]) - layer.channel_means(simulation.linear(node, weights, q))
        for f, q in zip(floats, quantised, strict=True)
    ])  # fmt: skip
    mean = wrong.mean(axis=0)
    if len(wrong) > 1:
        # The mean of few samples is partly chance: so much of it is left out.
        chance = wrong.var(axis=0, ddof=1) / len(wrong)
        mean = mean * np.clip(1 - chance / np.maximum(mean**2, 1e-30), 0, 1)
    else:
        mean = np.zeros_like(mean)
    bias = np.zeros(channels_of(graph, layer)) if weights.bias is None else weights.bias
    if weights.bias is None and not mean.any():
        return weights
    return replace(weights, bias=np.asarray(bias + mean))

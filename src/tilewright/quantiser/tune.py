"""Weights are rounded layer by layer, each knowing what the layers before it have made of the samples.

The float network and the one quantised so far run side by side. A layer sees what its inputs really will be: its
rounding can be learned from them, and its bias takes back what it would be wrong by on average.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.ops.clip import Clip
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.linear import LinearLayer, channels_of, linear_layer, takes_bias
from tilewright.quantiser.rounding import improved, learned_scales
from tilewright.quantiser.samples import Feeds
from tilewright.quantiser.short_factors import Ends, short_scales
from tilewright.quantiser.simulate import Simulation
from tilewright.quantiser.stream import Progress, Walk
from tilewright.quantiser.weights import QuantisedWeights, nearest, row_scales
from tilewright.quantiser.widths import Width

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
    rows = layer.rows(layer.weights).astype(np.float64)
    moments = _moments(layer, inputs, tuning.learn_rounding) if layer.has_rows else None
    importance = None if moments is None else _importance(moments)
    scales = row_scales(rows, width.weights, importance, layer.bias, *formats.steps)
    levels, whole = nearest(rows, scales, width.weights), None
    if tuning.learn_rounding and moments is not None and moments.ndim == 3:
        whole = moments
        levels, scales = _learned(rows, scales, width.weights, whole)
    ends = formats.ends(layer) if tuning.short_factors else None
    if ends is not None:
        scales = short_scales(rows, scales, width.weights, importance, ends)
        levels = _on_scales(rows, scales, width.weights, whole, levels)
    return QuantisedWeights(layer.unrows(levels), scales, layer.channel_axis, layer.bias)


def _on_scales(rows: Array, scales: Array, bits: int, moments: Array | None, levels: Array) -> Array:
    """The levels for scales that have been moved a little; learned ones are mended, not forgotten."""
    if moments is None:
        return nearest(rows, scales, bits)
    parts = _groups(rows, moments)
    made = [improved(rows[at], scales[at], bits, one, levels[at]) for at, one in zip(parts, moments, strict=True)]
    return np.concatenate(made)


def _format_of_result(simulation: Simulation, node: Node) -> Format | None:
    """How the results of a layer are rounded, maybe after a clamp; None where they are not."""
    name, graph = node.key, simulation.graph
    while name not in simulation.formats:
        readers = graph.consumers.get(name, [])
        if len(readers) != 1 or not isinstance(readers[0].op, Relu | Clip):
            return None
        name = readers[0].key
    return simulation.formats[name]


def _importance(moments: Array) -> Array | None:
    """How much a column matters: the mean square of what it multiplies. Groups are taken together."""
    diagonal = moments if moments.ndim == 2 else np.diagonal(moments, axis1=1, axis2=2)
    total = np.asarray(diagonal.mean(axis=0), np.float64)
    return total + 1e-3 * total.mean() if total.any() else None


def _moments(layer: LinearLayer, inputs: list[Array], whole: bool) -> Array:
    """Second moments [groups, columns, columns] of what weights are multiplied with, or only the diagonals."""
    total: Array | float = 0.0
    for x in inputs:
        columns = layer.columns(x)
        step = max(1, columns.shape[1] // MOST_POSITIONS)
        columns = columns[:, ::step].astype(np.float64)
        whole = whole and columns.shape[2] <= MOST_COLUMNS
        total = total + (columns.swapaxes(1, 2) @ columns if whole else np.square(columns).sum(axis=1))
    return np.asarray(total)


def _learned(rows: Array, scales: Array, bits: int, moments: Array) -> tuple[Array, Array]:
    """Learned levels and their scales, group by group."""
    parts = _groups(rows, moments)
    made = [learned_scales(rows[at], scales[at], bits, one) for at, one in zip(parts, moments, strict=True)]
    return np.concatenate([levels for levels, _ in made]), np.concatenate([found for _, found in made])


def _groups(rows: Array, moments: Array) -> list[slice]:
    size = len(rows) // len(moments)
    return [slice(group * size, (group + 1) * size) for group in range(len(moments))]


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

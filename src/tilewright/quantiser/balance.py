"""Channels of a tensor between two layers are brought to like sizes, which changes nothing in floats.

A channel that is divided by a factor where it is made and whose weights are multiplied by it where it is read gives the
same results. Between convolutions over ReLU that is cross-layer equalisation, behind a normalisation it is smoothing of
outlier channels. Dividing makes activations finer and weights coarser: how far to go is tried and measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Array
from tilewright.passes.quantise.values import Format
from tilewright.passes.rewriting import rewrite
from tilewright.quantiser.linear import LinearLayer, linear_layer
from tilewright.quantiser.links import Link, links
from tilewright.quantiser.ranges.observe import reach_of
from tilewright.quantiser.ranges.ranges import format_of_range, rounded
from tilewright.quantiser.samples.samples import Samples
from tilewright.quantiser.samples.stream import Progress, Walk, affordable
from tilewright.quantiser.weights import nearest, row_scales
from tilewright.quantiser.widths import Widths
from tilewright.records import dataclass

POWERS = (0.25, 0.5, 0.75, 1.0)
"""How much of the difference between channels is moved from activations into weights."""
BOUNDS = 1 / 256, 256.0
"""Of factors."""
GAIN = 0.97
"""The error must become that much smaller for it to be worth while."""
TRIED, MANY = 16, 64
"""Samples on which powers are tried, and on which channels are observed."""
SAME = 1e-3
"""How far results may be from those before, of their size: floats are rounded elsewhere now."""

LARGEST_ROW = 4.0
"""How much larger than most the weights of a channel may be made."""

Factors = list[tuple[Link, Array]]
"""What each channel of linked tensors is divided by."""


def balanced(graph: Graph, samples: Samples, widths: Widths, progress: Progress, processes: int) -> Graph:
    """The same function with channels of more equal sizes, where that makes the error of readers smaller."""
    found = list(links(graph))
    if not found:
        return graph
    axes = {name: link.axis for link in found for name in link.readers}
    reach = reach_of(graph, axes, samples, progress, processes, MANY)
    factors = _chosen(graph, found, reach.channels, samples, widths, progress)
    if not factors:
        return graph
    made = _applied(graph, factors)
    if _differs(graph, made, samples):
        return replace(graph, notes=(*graph.notes, "channels are not equalised: it would change the float network"))
    return made


# ---- choice -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rounded:
    """Weights of a layer as integers: floats of every factor and layer at a time would take four times as much."""

    layer: LinearLayer
    levels: Array
    scales: Array

    @staticmethod
    def of(weights: Array, layer: LinearLayer, bits: int) -> _Rounded:
        rows = layer.rows(weights)
        scales = row_scales(rows, bits)
        return _Rounded(layer, nearest(rows, scales, bits), scales)

    @property
    def floats(self) -> Array:
        return self.layer.unrows((self.levels * self.scales[:, None]).astype(np.float32))


@dataclass
class _Trial:
    """The error of a link's readers for each power; the first is without any factors."""

    factors: list[Array]
    weights: dict[str, list[_Rounded]]
    """Of each reader, by its results: as they would be with each factor, whatever the sample is."""
    errors: Array

    @staticmethod
    def of(link: Link, reach: Mapping[str, Array], widths: Widths) -> _Trial:
        factors, weights = _proposals(link, reach), dict[str, list[_Rounded]]()
        for reader in link.all_readers:
            layer = reader.layer
            bits = widths.of(layer.node.key, layer.node.name).weights
            weights[layer.node.key] = [_Rounded.of(reader.scaled(factor), layer, bits) for factor in factors]
        return _Trial(factors, weights, np.zeros(len(factors)))

    @property
    def best(self) -> Array:
        return self.factors[int(np.argmin(self.errors))]

    @property
    def is_worth_it(self) -> bool:
        return bool(self.errors.min() < GAIN * self.errors[0])


def _chosen(
    graph: Graph, found: Sequence[Link], reach: Mapping[str, Array], samples: Samples, widths: Widths,
    progress: Progress,
) -> Factors:  # fmt: skip
    trials = [_Trial.of(link, reach, widths) for link in found]
    read = {name: number for number, link in enumerate(found) for name in link.readers}
    walk, feeds = Walk(graph), samples.spread(affordable(graph, TRIED))
    for number, one in enumerate(feeds):
        progress("equalising channels", number, len(feeds))
        for node, results in walk.steps(walk.values(one)):
            at = read.get(node.key)
            if at is not None:
                _measure(found[at], node.key, trials[at], reach[node.key], results[0])
    return [(link, trial.best) for link, trial in zip(found, trials, strict=True) if trial.is_worth_it]


def _proposals(link: Link, seen: Mapping[str, Array]) -> list[Array]:
    reach = np.maximum.reduce([seen[name] for name in link.readers])
    weights = np.maximum.reduce([reader.column_reach for reader in link.all_readers])
    alive = (reach > 0) & (weights > 0)
    found = [np.ones(len(reach))]
    for power in POWERS:
        with np.errstate(all="ignore"):
            factor = np.where(alive, reach**power / weights ** (1 - power), 1.0)
        middle = np.exp(np.mean(np.log(factor[alive]))) if alive.any() else 1.0
        spread = np.where(alive, factor / middle, _of_silent(factor / middle, weights, alive))
        found.append(_without_giants(link, np.clip(spread, *BOUNDS)))
    return found


def _without_giants(link: Link, factor: Array) -> Array:
    """A channel that hardly ever is above zero is not made large: its sums would be far below most of the time, in a
    unit so coarse that it leaves none of the fast ways to the whole layer."""
    for layer in (maker.layer for maker in link.makers if maker.layer is not None):
        rows = np.abs(layer.rows(layer.weights)).max(axis=1)
        factor = np.maximum(factor, rows / (LARGEST_ROW * max(float(np.median(rows / factor)), 1e-30)))
    return factor


def _of_silent(factor: Array, weights: Array, alive: Array) -> Array:
    """Factors of channels that are always zero on the samples, mostly because they are far below: as large as readers
    allow, so that a rare large number there does not make the unit of all results coarse."""
    if not alive.any():
        return np.ones(len(factor))
    with np.errstate(over="ignore"):
        # Beyond all numbers is as large as it gets; the caller has a limit.
        return np.asarray(float(np.median(weights[alive] * factor[alive])) / np.maximum(weights, 1e-30))


def _measure(link: Link, tensor: str, trial: _Trial, reach: Array, value: Array) -> None:
    """Add the relative squared error of a tensor's readers on one sample."""
    low = float(value.min())
    for reader in link.readers[tensor]:
        layer = reader.layer
        wanted = layer.node.op.numpy(value, layer.weights)
        size = float(np.sum(np.square(wanted, dtype=np.float64))) or 1.0
        for at, (factor, weights) in enumerate(zip(trial.factors, trial.weights[layer.node.key], strict=True)):
            form = _format(reach, factor, low)
            x = rounded(link.divided(value, factor), form)
            wrong = layer.node.op.numpy(x, weights.floats) - wanted
            trial.errors[at] += float(np.sum(np.square(wrong, dtype=np.float64))) / size


def _format(reach: Array, factor: Array, low: float) -> Format:
    high = float((reach / factor).max())
    return format_of_range(-high if low < 0 else 0.0, high, "int8")


# ---- the graph with factors ---------------------------------------------------------------------------------------


def _applied(graph: Graph, factors: Factors) -> Graph:
    made: dict[str, dict[int, Array]] = {}
    for link, factor in factors:
        for maker in link.makers:
            changed = made.setdefault(maker.node.key, {})
            changed.update(maker.divided(graph, changed, factor))
        for reader in link.all_readers:
            changed = made.setdefault(reader.layer.node.key, {})
            layer = reader.layer
            weights = changed.get(1, layer.weights)
            changed[1] = replace(reader, layer=replace(layer, weights=weights)).scaled(factor)

    def change(node: Node, builder: Builder) -> Mapping[str, str] | None:
        if node.key not in made:
            return None
        inputs = [*node.inputs, *[""] * (max(made[node.key]) + 1 - len(node.inputs))]
        for position, array in made[node.key].items():
            hint = inputs[position] or f"{node.name}_{position}"
            inputs[position] = builder.constant(np.asarray(array, np.float32), hint)
        builder.add(node.op, inputs, node.outputs, node.name)
        return {name: name for name in node.outputs if name}

    return rewrite(graph, change)


def _differs(before: Graph, after: Graph, samples: Samples) -> bool:
    """Whether factors have changed what the network computes: nothing but roundings of floats may differ."""
    for feeds in samples.spread(2):
        old, new = Walk(before).outputs(feeds), Walk(after).outputs(feeds)
        for wanted, got in zip(before.sinks, after.sinks, strict=True):
            size = float(np.abs(old[wanted]).max(initial=0.0))
            if float(np.abs(new[got] - old[wanted]).max(initial=0.0)) > SAME * max(size, 1e-6):
                return True
    return False


__all__ = ["balanced", "linear_layer"]

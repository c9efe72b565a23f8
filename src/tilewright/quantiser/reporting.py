"""What quantisation cost, as data: in all and layer by layer, with what would help each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.ir.graph import Graph
from tilewright.passes import apply
from tilewright.passes.drop_identities import DROP_IDENTITIES
from tilewright.passes.quantise.rules import QUANTISE
from tilewright.quantiser.choose import Chosen
from tilewright.quantiser.floats import Kept, kept_in_float
from tilewright.quantiser.hints import hint_for
from tilewright.quantiser.linear import linear_layers
from tilewright.quantiser.measure import Measured
from tilewright.quantiser.observe import Spread
from tilewright.quantiser.ranges import clipped_share
from tilewright.quantiser.simulate import Simulation
from tilewright.quantiser.widths import EIGHT, Width

EXACT_DB = 200.0
"""What is reported where there is no noise at all: JSON has no infinity."""

WORST = 8
"""Layers that the text shows."""


@dataclass(frozen=True)
class LayerReport:
    name: str
    operator: str
    width: str
    snr_db: float
    """Of the layer's result in the quantised network against the float one."""
    own_db: float
    """The same for the rounding of its result alone."""
    clipped: float
    """The share of values outside the range."""
    low: float
    high: float
    """What the format holds."""
    seen_low: float
    seen_high: float
    method: str
    hint: str

    def as_dict(self) -> dict[str, Any]:
        return {**self.__dict__}


@dataclass(frozen=True)
class Report:
    layers: tuple[LayerReport, ...]
    snr_db: float
    """At the outputs, all together."""
    agreement: float
    """The share of samples whose top-1 is that of the float network."""
    samples: int
    metric_float: float | None
    metric: float | None
    floats: tuple[Kept, ...]
    """What has no integer form, and its price."""
    notes: tuple[str, ...]

    @property
    def worst(self) -> list[LayerReport]:
        return sorted(self.layers, key=lambda layer: layer.snr_db)[:WORST]

    def as_dict(self) -> dict[str, Any]:
        return {
            "metric_float": self.metric_float, "metric": self.metric, "snr_db": self.snr_db,
            "top1_agreement": self.agreement, "samples": self.samples,
            "layers": [layer.as_dict() for layer in self.layers], "floats": [kept.as_dict() for kept in self.floats],
            "notes": list(self.notes),
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [self.headline, *(f"note: {note}" for note in self.notes), *(f"float: {kept}" for kept in self.floats)]
        width = max((len(layer.name) for layer in self.layers), default=0)
        lines += [
            f"{layer.name:{min(width, 48)}}  {layer.width:9}  {layer.snr_db:6.1f} dB  {layer.hint}" for layer in self.layers
        ]
        return "\n".join(lines)

    @property
    def headline(self) -> str:
        metric = "" if self.metric is None else f", metric {self.metric:.4g} (float {self.metric_float:.4g})"
        agreement = f"top-1 as in floats on {self.agreement:.1%} of {self.samples} samples"
        return f"{self.snr_db:.1f} dB at the output, {agreement}{metric}"


def report_of(
    simulation: Simulation, made: Graph, spread: Spread, chosen: Mapping[str, Chosen], widths: Mapping[str, Width],
    measured: Measured, has_metric: bool,
) -> Report:  # fmt: skip
    graph = simulation.graph
    layers = linear_layers(graph)
    found = [
        _layer(simulation, tensor, choice, spread, widths, measured)
        for tensor, choice in chosen.items()
        if tensor in spread.histograms and tensor in measured.layers
    ]
    integer = apply(made, (DROP_IDENTITIES, QUANTISE))
    total, wrong = (sum(getattr(noise, part) for noise in measured.outputs.values()) for part in ("signal", "error"))
    count = max(measured.samples, 1)
    del layers
    return Report(
        tuple(found), decibels(total, wrong), measured.agreeing / count, measured.samples,
        measured.metric_float / count if has_metric else None, measured.metric / count if has_metric else None,
        kept_in_float(made, integer), graph.notes,
    )  # fmt: skip


def decibels(signal: float, error: float) -> float:
    if error == 0.0:
        return EXACT_DB
    return max(min(10 * math.log10(signal / error), EXACT_DB), -EXACT_DB) if signal else -EXACT_DB


def _layer(
    simulation: Simulation, tensor: str, choice: Chosen, spread: Spread, widths: Mapping[str, Width],
    measured: Measured,
) -> LayerReport:  # fmt: skip
    graph, noise, form = simulation.graph, measured.layers[tensor], choice.format
    histogram, node = spread.histograms[tensor], graph.producers.get(tensor)
    clipped = clipped_share(histogram, form)
    width = widths.get(tensor, Width(EIGHT.weights, form.dtype))
    low, high = ((level - form.zero) * form.scale for level in _levels(form.dtype))
    total, own = (decibels(part.signal, part.error) for part in (noise.total, noise.result))
    return LayerReport(
        node.name if node is not None else tensor, node.op.kind if node is not None else "input",
        str(width) if tensor in widths else form.dtype, round(total, 2), round(own, 2), clipped, low, high,
        histogram.low, histogram.high, choice.method, hint_for(total, own, clipped, histogram, form),
    )  # fmt: skip


def _levels(dtype: str) -> tuple[int, int]:
    from tilewright.ir.types import limits

    return limits(dtype)

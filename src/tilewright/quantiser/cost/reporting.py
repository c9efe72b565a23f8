"""What quantisation cost, as data: in all and layer by layer, with what would help each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tilewright.ir.graph import Graph
from tilewright.ir.types import limits
from tilewright.quantiser.cost.floats import Kept, floats_of
from tilewright.quantiser.cost.hints import Parts, hint_for
from tilewright.quantiser.cost.in_c import InC
from tilewright.quantiser.cost.measure import Measured
from tilewright.quantiser.prepare.places import Places, layer_of
from tilewright.quantiser.ranges.choose import Chosen
from tilewright.quantiser.ranges.histogram import Histogram
from tilewright.quantiser.ranges.observe import Spread
from tilewright.quantiser.ranges.ranges import clipped_share
from tilewright.quantiser.simulate import Simulation
from tilewright.quantiser.widths import Width
from tilewright.records import dataclass

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
    weights_db: float | None
    """The same for the rounding of its weights alone, if it has any."""
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
        return asdict(self)


@dataclass(frozen=True)
class Report:
    layers: tuple[LayerReport, ...]
    snr_db: float
    """At the outputs, all together."""
    agreement: float
    """The share of rows of scores, one for each sample or pixel, whose top-1 is that of the float network."""
    samples: int
    metric_float: float | None
    metric: float | None
    floats: tuple[Kept, ...]
    """What has no integer form, and its price."""
    notes: tuple[str, ...]
    in_c: InC | None = None
    """The same of the network as C, if it was asked for."""

    @property
    def worst(self) -> list[LayerReport]:
        return sorted(self.layers, key=lambda layer: layer.snr_db)[:WORST]

    def as_dict(self) -> dict[str, Any]:
        return {
            "metric_float": self.metric_float, "metric": self.metric, "snr_db": self.snr_db,
            "top1_agreement": self.agreement, "samples": self.samples,
            "layers": [layer.as_dict() for layer in self.layers], "floats": [kept.as_dict() for kept in self.floats],
            "notes": list(self.notes), **self._in_c,
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [self.headline, *(f"note: {note}" for note in self.notes), *(f"float: {kept}" for kept in self.floats)]
        width = max((len(layer.name) for layer in self.layers), default=0)
        lines += [
            f"{layer.name:{min(width, 48)}}  {layer.width:9}  {layer.snr_db:6.1f} dB  {layer.hint}"
            for layer in self.layers
        ]
        return "\n".join(lines)

    @property
    def _in_c(self) -> dict[str, Any]:
        if self.in_c is None:
            return {}
        return {"metric_c": self.in_c.metric, "snr_c_db": self.in_c.snr_db, "top1_agreement_c": self.in_c.agreement}

    @property
    def headline(self) -> str:
        metric = "" if self.metric is None else f", metric {self.metric:.4g} (float {self.metric_float:.4g})"
        agreement = f"top-1 as in floats on {self.agreement:.1%} of {self.samples} samples"
        return f"{self.snr_db:.1f} dB at the output, {agreement}{metric}"


def report_of(
    simulation: Simulation, found: Places, made: Graph, spread: Spread, chosen: Mapping[str, Chosen],
    widths: Mapping[str, Width], measured: Measured, has_metric: bool,
) -> Report:  # fmt: skip
    layers = [
        _layer(simulation.graph, found, tensor, chosen[tensor], spread.histograms[tensor], widths, measured)
        for tensor in chosen
        if tensor in spread.histograms and tensor in measured.layers
    ]
    count = max(measured.samples, 1)
    before, after = (sum_ / count if has_metric else None for sum_ in (measured.metric_float, measured.metric))
    floats = floats_of(made)
    agreement = measured.agreeing / count
    return Report(
        tuple(layers),
        round(measured.output.db, 2),
        agreement,
        measured.samples,
        before,
        after,
        floats,
        simulation.graph.notes,
    )


def _layer(
    graph: Graph, found: Places, tensor: str, choice: Chosen, histogram: Histogram, widths: Mapping[str, Width],
    measured: Measured,
) -> LayerReport:  # fmt: skip
    form, noise = choice.format, measured.layers[tensor]
    nodes = layer_of(graph, found, tensor)
    first = next((node for node in nodes if node.key in widths), nodes[-1] if nodes else None)
    weights = measured.weights.get(first.key) if first is not None else None
    low, high = ((level - form.zero) * form.scale for level in limits(form.dtype))
    parts = Parts(
        noise.total.db, noise.result.db, None if weights is None else weights.db, clipped_share(histogram, form)
    )
    return LayerReport(
        tensor if first is None else first.name, "input" if first is None else first.op.kind,
        form.dtype if first is None or first.key not in widths else f"w{widths[first.key].weights} {form.dtype}",
        round(parts.total, 2), round(parts.own, 2), None if parts.weights is None else round(parts.weights, 2),
        parts.clipped, low, high, histogram.low, histogram.high, choice.method, hint_for(parts, histogram, form),
    )  # fmt: skip

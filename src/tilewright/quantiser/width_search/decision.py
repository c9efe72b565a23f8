"""Widths that were decided after the network was observed: what differs from how it was prepared, as data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace

from tilewright.ir.graph import Graph
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.quantise import Ready
from tilewright.quantiser.ranges.ranges import format_of_range
from tilewright.records import dataclass


@dataclass(frozen=True)
class Decision:
    bits: Mapping[str, int] = field(default_factory=dict)
    """Layer, by its result -> the bits of its weights."""
    wide: frozenset[str] = frozenset()
    """Tensors of 16 bits, with all that share their format."""
    unrounded: frozenset[str] = frozenset()
    """Tensors that stay in floats, likewise; so do the layers that read them."""
    float_layers: frozenset[str] = frozenset()
    """Layers with float weights, by their results."""

    def __or__(self, other: Decision) -> Decision:
        """Both; of what is decided twice, the other."""
        bits = {**self.bits, **other.bits}
        floats, unrounded = self.float_layers | other.float_layers, self.unrounded | other.unrounded
        return Decision(bits, (self.wide | other.wide) - unrounded, unrounded, floats)


AS_PREPARED = Decision()


def decided(ready: Ready, decision: Decision) -> Ready:
    """The network with these widths; weights are not rounded yet."""
    wide = {name: form for leader in decision.wide for name, form in wide_formats(ready, leader).items()}
    floats = {name for leader in decision.unrounded for name in ready.found.members[leader]}
    formats = {name: form for name, form in {**ready.bare.formats, **wide}.items() if name not in floats}
    chosen = {name: choice for name, choice in ready.chosen.items() if name in formats}
    chosen |= {name: replace(ready.chosen[name], format=form, method="min-max") for name, form in wide.items()}
    left = {*ready.widths} - {*readers(ready.network, ready.widths, floats)} - decision.float_layers
    widths = {
        key: replace(width, weights=decision.bits.get(key, width.weights))
        for key, width in ready.widths.items()
        if key in left
    }
    return replace(ready, chosen=chosen, bare=replace(ready.bare, formats=formats), widths=widths)


def wide_formats(ready: Ready, leader: str) -> dict[str, Format]:
    """A tensor and those that share its format, in 16 bits."""
    seen = ready.spread.histograms[leader]
    return dict.fromkeys(ready.found.members[leader], format_of_range(seen.low, seen.high, "int16"))


def readers(graph: Graph, layers: Iterable[str], tensors: Collection[str]) -> list[str]:
    """The layers that multiply one of some tensors with their weights."""
    return [key for key in layers if graph.producers[key].inputs[0] in tensors]

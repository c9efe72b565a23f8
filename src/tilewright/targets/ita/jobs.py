"""What all jobs of a layer have in common, as words for ITA's registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tilewright.records import dataclass
from tilewright.targets.ita.arithmetic import GELU, IDENTITY, RELU, Activation, Scale

ATTENTION, FEED_FORWARD, LINEAR, SINGLE_ATTENTION = range(4)
ACTIVATIONS = {IDENTITY: 0, GELU: 1, RELU: 2}
STEPS = 8


@dataclass(frozen=True)
class ItaLayer:
    """What all jobs of a layer have in common: numbers of tiles, a scale for each step."""

    kind: int
    s: int
    e: int
    p: int = 1
    f: int = 1
    scales: Sequence[Scale] = ()
    activation: Activation = field(default_factory=Activation)


def layer_registers(layer: ItaLayer) -> list[int]:
    """Those of tiles, scales, layer and activation: 0x38 to 0x54, 0x5c and 0x60."""
    scales = [*layer.scales, *[Scale()] * (STEPS - len(layer.scales))]
    act = layer.activation
    return [
        layer.s | layer.e << 4 | layer.p << 8 | layer.f << 12,
        *_packed([scale.multiplier for scale in scales]),
        *_packed([scale.shift for scale in scales]),
        *_packed([scale.add for scale in scales]),
        layer.kind | ACTIVATIONS[act.kind] << 2,
        act.b & 0xFFFF | (act.c & 0xFFFF) << 16,
        act.scale.multiplier | act.scale.shift << 8 | (act.scale.add & 0xFF) << 16,
    ]


def layer_words(layer: ItaLayer) -> tuple[int, ...]:
    """The registers of a layer as C has them, with a sign."""
    return tuple(word - (word >> 31 << 32) for word in layer_registers(layer))


def _packed(values: Sequence[int]) -> list[int]:
    return [sum((values[at + i] & 0xFF) << 8 * i for i in range(4)) for at in range(0, STEPS, 4)]

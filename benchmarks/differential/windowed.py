"""Convolutions and pools whose windows may be larger than their images: one pixel, one row or column, one channel,
several samples, strides above the size, windows that lie in the padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from benchmarks.differential.choices import TRIES, Dull
from benchmarks.differential.net import Net

SIZES = (1, 1, 1, 2, 2, 3, 4, 5, 7, 9)
CHANNELS = (1, 1, 2, 3, 4, 5, 8, 12, 16, 17, 32, 33)
WINDOWS = (1, 2, 3, 3, 3, 4, 5, 7)
MOST_MACS = 300_000
"""Of a layer: cores without floating point take some hundred cycles for each."""


@dataclass(frozen=True)
class Windowed:
    """A layer, still without numbers."""

    kind: str
    shape: tuple[int, ...]
    """Of its input."""
    weights: tuple[int, ...]
    """Shape; empty for a pool."""
    filters: int
    attributes: dict[str, Any]

    @property
    def terms(self) -> int:
        """Products that are summed up for a result."""
        return prod(self.weights[1:])


def draw_windowed(net: Net, kinds: Sequence[str]) -> Windowed:
    """One that has at least a window."""
    for _ in range(TRIES):
        kind, rank = net.choice(kinds), net.choice((2, 2, 2, 2, 1, 3))
        drawn, sizes = _window(net, rank, kind), [net.choice(SIZES) for _ in range(rank)]
        counts = (_transposed_sizes if kind == "ConvTranspose" else _counts)(sizes, drawn)
        if min(counts) < 1:
            continue
        groups, inside, outside = _channels(net, kind)
        shape = (net.choice((1, 1, 2, 3)), groups * inside, *sizes)
        ends = (groups * outside, inside) if kind == "Conv" else (groups * inside, outside)
        weights = (*ends, *drawn["kernel_shape"]) if kind.startswith("Conv") else ()
        if shape[0] * prod(weights) * prod(counts) <= MOST_MACS:
            attributes = {**drawn, "group": groups} if weights else drawn
            return Windowed(kind, shape, weights, groups * outside, attributes)
    raise Dull("no window fits")


def _window(net: Net, rank: int, kind: str) -> dict[str, Any]:
    window = [net.choice(WINDOWS) for _ in range(rank)] if net.chance(0.5) else [net.choice(WINDOWS)] * rank
    drawn: dict[str, Any] = {"kernel_shape": window, "strides": [net.choice((1, 1, 2, 2, 3, 5))] * rank}
    if net.chance(0.3):
        drawn["strides"] = [net.choice((1, 2, 3, 9)) for _ in range(rank)]
    if kind == "Conv" and net.chance(0.2):
        drawn["dilations"] = [net.choice((1, 2, 3)) for _ in range(rank)]
    if kind == "AveragePool":
        drawn["count_include_pad"] = net.number(0, 1)
    pads = [size // 2 for size in window] * 2 if net.chance(0.6) else [net.number(0, size - 1) for size in window * 2]
    return drawn | {"pads": pads}


def _channels(net: Net, kind: str) -> tuple[int, int, int]:
    """Groups, channels of a group's input and of its output."""
    if not kind.startswith("Conv"):
        return net.choice(CHANNELS), 1, 1
    if net.chance(0.45):
        return net.choice(CHANNELS), 1, net.choice((1, 1, 1, 2, 3))
    return net.choice((1, 1, 1, 2, 3)), net.choice(CHANNELS), net.choice(CHANNELS)


def _spans(drawn: dict[str, Any]) -> list[int]:
    steps = drawn.get("dilations", [1] * len(drawn["kernel_shape"]))
    return [(window - 1) * step + 1 for window, step in zip(drawn["kernel_shape"], steps, strict=True)]


def _counts(sizes: Sequence[int], drawn: dict[str, Any]) -> list[int]:
    """Windows along each axis."""
    pads, rank = drawn["pads"], len(sizes)
    rooms = [size + pads[axis] + pads[axis + rank] for axis, size in enumerate(sizes)]
    found = zip(rooms, _spans(drawn), drawn["strides"], strict=True)
    return [(room - span) // stride + 1 if room >= span else 0 for room, span, stride in found]


def _transposed_sizes(sizes: Sequence[int], drawn: dict[str, Any]) -> list[int]:
    pads, rank = drawn["pads"], len(sizes)
    found = zip(sizes, drawn["strides"], _spans(drawn), strict=True)
    return [
        (size - 1) * stride + span - pads[axis] - pads[axis + rank] for axis, (size, stride, span) in enumerate(found)
    ]

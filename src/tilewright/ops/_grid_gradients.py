"""Gradients of GridSample: by the image a scatter of what points were read with, by the grid the slopes of weights."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from tilewright.ir.value import Value
from tilewright.records import dataclass


@dataclass(frozen=True)
class Tap:
    """Of each point along one axis: an element, its weight, and how that grows with the place."""

    at: Value
    weight: Value
    slope: Value


@dataclass(frozen=True)
class Axis:
    taps: Sequence[Tap]
    factor: Value
    """How the place grows with the number in the grid."""


@dataclass(frozen=True)
class Sampling:
    """The fields of GridSample."""

    mode: str
    padding: str
    align_corners: bool
    cubic: float

    def axis(self, where: Value, size: int) -> Axis:
        """`where` is one of the numbers of each point."""
        low, high = (0.0, size - 1.0) if self.align_corners else (-0.5, size - 0.5)
        # Rounded as GridSample rounds it, so that both find the same elements.
        place = (where + 1.0) / 2 * (size - 1.0) if self.align_corners else ((where + 1.0) * float(size) - 1.0) / 2
        factor = where.constant((size - 1 if self.align_corners else size) / 2)
        if self.mode == "nearest":
            place = place.apply("Round")
        if self.padding == "border" and self.mode != "cubic":
            factor = factor.only_where((place > 0.0).both(place < size - 1.0))
            place = _held(place, size)
        if self.padding == "reflection":
            place, direction = _reflected(place, low, high)
            factor = factor * direction
        first = place.apply("Floor")
        taps = []
        for offset, weight, slope in self._weights(place - first):
            element = first + float(offset)
            if self.padding == "zeros":
                inside = (element >= 0.0).both(element <= size - 1.0)
                weight, slope = weight.only_where(inside), slope.only_where(inside)
            if self.padding == "reflection":
                element, _ = _reflected(element, low, high)
            taps.append(Tap(_held(element, size).cast("int32"), weight, slope))
        return Axis(taps, factor)

    def _weights(self, rest: Value) -> list[tuple[int, Value, Value]]:
        """Of elements from the one before a place on: the offset, the weight, and its slope."""
        none = rest * 0.0
        if self.mode == "nearest":
            return [(0, none + 1.0, none)]
        if self.mode == "linear":
            return [(0, 1.0 - rest, none - 1.0), (1, rest, none + 1.0)]
        other, c = 1.0 - rest, self.cubic

        def near(t: Value) -> tuple[Value, Value]:
            return (t * (c + 2) - (c + 3)) * t * t + 1.0, (t * (3 * (c + 2)) - 2 * (c + 3)) * t

        def far(t: Value) -> tuple[Value, Value]:
            return ((t * c - 5 * c) * t + 8 * c) * t - 4 * c, (t * (3 * c) - 10 * c) * t + 8 * c

        found = far(rest + 1.0), near(rest), near(other), far(other + 1.0)
        turned = (False, False, True, True)
        return [
            (offset, weight, -slope if is_turned else slope)
            for offset, (weight, slope), is_turned in zip((-1, 0, 1, 2), found, turned, strict=True)
        ]


def _held(place: Value, size: int) -> Value:
    """Inside of an axis; what is not a number is at its beginning, as no integer stands for it."""
    return place.apply("Clip", low=0.0, high=size - 1.0).only_where(place >= 0.0)


def _reflected(place: Value, low: float, high: float) -> tuple[Value, Value]:
    """Thrown back at the borders as often as it takes, and whether it moves with the place or against it: 1 or -1."""
    span = high - low
    if span <= 0:
        return place * 0.0 + low, place * 0.0
    away = place - low
    rest = away.apply("Abs").apply("Mod", 2 * span, fmod=True)
    is_even = rest < span
    return is_even.where(rest + low, high + span - rest), is_even.where(away.sign(), -away.sign())


def gradients_of_grid(x: Value, grid: Value, g: Value, sampling: Sampling, by_grid: bool) -> dict[str, Value]:
    """By X; by the grid too if it is wanted."""
    rank = x.rank - 2
    last = [0, *range(2, rank + 2), 1]
    image, slopes = x.transpose(last), g.transpose(last)
    points = g.shape[2:]
    axes = [sampling.axis(grid.part(-1, rank - 1 - i, rank - i), size) for i, size in enumerate(x.shape[2:])]
    pictures = np.arange(x.shape[0]).reshape(-1, *(1,) * (rank + 1))
    number = grid.constant(np.broadcast_to(pictures, (x.shape[0], *points, 1)), "int32")
    by_x = x.zeros(image.shape)
    by_place: list[Value | None] = [None] * rank
    for taps in product(*(axis.taps for axis in axes)):
        places = number.joined(-1, *(tap.at for tap in taps))
        by_x = by_x.apply("ScatterND", places, slopes * _weight(taps), reduction="add")
        if not by_grid:
            continue
        met = (image.apply("GatherND", places) * slopes).sum([-1])
        for axis in range(rank):
            part = met * _weight(taps, axis)
            before = by_place[axis]
            by_place[axis] = part if before is None else before + part
    back = [0, rank + 1, *range(1, rank + 1)]
    found = {"X": by_x.transpose(back)}
    if by_grid:
        parts = [part * axis.factor for part, axis in zip(by_place, axes, strict=True) if part is not None][::-1]
        found["grid"] = parts[0].joined(-1, *parts[1:])
    return found


def _weight(taps: Sequence[Tap], sloped: int = -1) -> Value:
    """The product of the weights along all axes, of one of them the slope in its place."""
    factors = [tap.slope if axis == sloped else tap.weight for axis, tap in enumerate(taps)]
    total = factors[0]
    for factor in factors[1:]:
        total = total * factor
    return total

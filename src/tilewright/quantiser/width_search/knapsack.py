"""One choice for each of many items: the least loss for every cost."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.records import dataclass

MOST = 2000
"""Sums that are kept after each item: of more, every second or third is left out."""


@dataclass(frozen=True)
class Choice:
    cost: float
    loss: float


@dataclass(frozen=True)
class Point:
    """A sum of choices that no other beats in both cost and loss."""

    cost: float
    loss: float
    picks: tuple[int, ...]
    """For each item the number of its choice."""


def front(items: Sequence[Sequence[Choice]]) -> list[Point]:
    """All sums worth having, from the cheapest to the one of least loss; exact as long as there are few."""
    points = [Point(0.0, 0.0, ())]
    for choices in items:
        sums = [
            Point(point.cost + choice.cost, point.loss + choice.loss, (*point.picks, number))
            for point in points
            for number, choice in enumerate(choices)
        ]
        points = _thinned(_undominated(sums))
    return points


def _undominated(sums: Sequence[Point]) -> list[Point]:
    """By cost, each of less loss than the one before."""
    kept: list[Point] = []
    for point in sorted(sums, key=lambda one: (one.cost, one.loss)):
        if not kept or point.loss < kept[-1].loss:
            kept.append(point)
    return kept


def _thinned(points: list[Point]) -> list[Point]:
    """Some of many, with both ends."""
    step = -(-len(points) // MOST)
    return points if step < 2 else [*points[:-1:step], points[-1]]

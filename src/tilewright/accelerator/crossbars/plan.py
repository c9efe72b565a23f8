"""Which crossbars hold which layer: as many layers as fit stay there, what is left over are copies."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.records import dataclass


@dataclass(frozen=True)
class Wanted:
    """A layer."""

    name: str
    crossbars: int
    """That one copy takes."""
    vectors: int
    """That it is given in a run."""
    rows: int
    """That are written for it, over all its crossbars."""


@dataclass(frozen=True)
class Place:
    first: int
    copies: int
    resident: bool


def plan(layers: Sequence[Wanted], crossbars: int) -> list[Place | None]:
    """Of each layer; None for those that are larger than all crossbars together. Layers that do not fit beside the
    others share the crossbars behind them, and are written at every run."""
    fits = [at for at, layer in enumerate(layers) if layer.crossbars <= crossbars]
    spilled = _spilled(layers, fits, crossbars)
    copies = _copies(layers, [at for at in fits if at not in spilled], crossbars - _shared(layers, spilled))
    found: list[Place | None] = [None] * len(layers)
    end = 0
    for at, count in copies.items():
        found[at] = Place(end, count, True)
        end += count * layers[at].crossbars
    for at in spilled:
        found[at] = Place(end, 1, False)
    return found


def _spilled(layers: Sequence[Wanted], fits: Sequence[int], crossbars: int) -> list[int]:
    """Those that cost least to write for each crossbar that they free, until the others fit."""
    order = sorted(fits, key=lambda at: (layers[at].rows / layers[at].crossbars, layers[at].rows))
    for count in range(len(order) + 1):
        spilled = order[:count]
        if sum(layers[at].crossbars for at in order[count:]) + _shared(layers, spilled) <= crossbars:
            # The largest of them needs the room: smaller ones may find one beside it.
            return _without_needless(layers, spilled, order[count:], crossbars)
    return list(order)


def _without_needless(layers: Sequence[Wanted], spilled: list[int], kept: list[int], crossbars: int) -> list[int]:
    for at in sorted(spilled, key=lambda at: -layers[at].rows):
        fewer = [other for other in spilled if other != at]
        used = sum(layers[other].crossbars for other in (*kept, at))
        if used + _shared(layers, fewer) <= crossbars:
            spilled, kept = fewer, [*kept, at]
    return spilled


def _shared(layers: Sequence[Wanted], spilled: Sequence[int]) -> int:
    return max((layers[at].crossbars for at in spilled), default=0)


def _copies(layers: Sequence[Wanted], kept: Sequence[int], crossbars: int) -> dict[int, int]:
    """Each free crossbar goes where most vectors wait for one copy, as long as there is one that fits."""
    found = dict.fromkeys(sorted(kept), 1)
    free = crossbars - sum(layers[at].crossbars for at in kept)
    while able := [at for at in found if layers[at].crossbars <= free and found[at] < layers[at].vectors]:
        slowest = max(able, key=lambda at: -(-layers[at].vectors // found[at]))
        found[slowest] += 1
        free -= layers[slowest].crossbars
    return found

"""Layers of cores and of an engine with a memory of its own, which work at the same time: who computes what, and in
which order, by what layers and copies are predicted to take.

The cores launch what the engine computes and go on; it does one thing after the other. A copy to it waits for it and
for the cores, a copy back waits for the layer that made the tensor. So layers of the engine come as early as they can,
and what cores need is copied when they need it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from tilewright.records import dataclass

CORES, ENGINE = 0, 1
MOST_TRIALS = 1500
"""Assignments that are looked at, where there are too many layers to try every run of them."""


@dataclass(frozen=True)
class Layer:
    """Tensors are numbers."""

    reads: tuple[int, ...]
    """Without constants, which are everywhere."""
    writes: tuple[int, ...]
    times: tuple[float | None, float | None]
    """On cores and on the engine; None where it cannot be computed there. Both are 0 for a view, which is where what it
    reads is."""
    is_view: bool = False

    @property
    def is_movable(self) -> bool:
        return not self.is_view and None not in self.times

    @property
    def only(self) -> int:
        """Where a layer is computed that cannot be moved."""
        return CORES if self.times[ENGINE] is None else ENGINE


@dataclass(frozen=True)
class Problem:
    layers: tuple[Layer, ...]
    copies: Mapping[int, float]
    """Tensor -> what a copy of it takes."""
    outputs: frozenset[int]
    """Tensors that cores have at the end; those that nobody makes they have at the beginning."""
    kept: tuple[tuple[int, int], ...] = ()
    """Tensors that are a state before and after a call."""

    @cached_property
    def makers(self) -> dict[int, int]:
        return {tensor: number for number, layer in enumerate(self.layers) for tensor in layer.writes}

    @cached_property
    def movable(self) -> tuple[int, ...]:
        return tuple(number for number, layer in enumerate(self.layers) if layer.is_movable)

    def assignment(self, engine: frozenset[int]) -> list[int]:
        """Where each layer is, if of the movable ones those are on the engine; a view is where its layer is."""
        places: list[int] = []
        for number, layer in enumerate(self.layers):
            if layer.is_view:
                maker = self.makers.get(layer.reads[0], -1) if layer.reads else -1
                places.append(places[maker] if maker >= 0 else CORES)
            else:
                places.append((ENGINE if number in engine else CORES) if layer.is_movable else layer.only)
        return places


def in_order(layers: Sequence[Layer], places: Sequence[int]) -> list[int]:
    """The layers as they are launched and computed: of all that could be next the first of the engine, or of cores."""
    makers = {tensor: number for number, layer in enumerate(layers) for tensor in layer.writes}
    readers: list[list[int]] = [[] for _ in layers]
    missing = []
    for number, layer in enumerate(layers):
        before = {makers[tensor] for tensor in layer.reads if tensor in makers}
        missing.append(len(before))
        for maker in before:
            readers[maker].append(number)
    ready = [(_turn(layer, place), number) for number, (layer, place) in enumerate(zip(layers, places, strict=True))
             if not missing[number]]  # fmt: skip
    heapq.heapify(ready)
    found = []
    while ready:
        _, number = heapq.heappop(ready)
        found.append(number)
        for reader in readers[number]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, (_turn(layers[reader], places[reader]), reader))
    return found


def _turn(layer: Layer, place: int) -> int:
    return 0 if layer.is_view or place == ENGINE else 1


@dataclass
class _Run:
    """What happens, and when."""

    problem: Problem
    places: Sequence[int]
    cores: float = 0.0
    engine: float = 0.0
    made: dict[int, float] = field(default_factory=dict)
    """Tensor of the engine -> when it is made."""
    there: set[tuple[int, int]] = field(default_factory=set)
    """Tensors and where they are."""

    def time(self) -> float:
        inside = self._kept_by_engine()
        self.there |= {(tensor, ENGINE) for tensor in inside}
        for number in in_order(self.problem.layers, self.places):
            self._layer(self.problem.layers[number], self.places[number])
        for tensor in self.problem.outputs:
            self._bring(tensor)
        for before, after in self.problem.kept:
            if before not in inside:
                self._bring(after)
        return max(self.cores, self.engine)

    def _kept_by_engine(self) -> set[int]:
        """States that no layer of cores touches."""
        pairs = zip(self.problem.layers, self.places, strict=True)
        touched = {tensor for layer, place in pairs if place == CORES for tensor in (*layer.reads, *layer.writes)}
        return {before for before, after in self.problem.kept if not {before, after} & touched}

    def _layer(self, layer: Layer, place: int) -> None:
        if layer.is_view:
            for tensor in layer.writes:
                self.there |= {(tensor, where) for where in (CORES, ENGINE) if (layer.reads[0], where) in self.there}
                if layer.reads and layer.reads[0] in self.made:
                    self.made[tensor] = self.made[layer.reads[0]]
            return
        for tensor in layer.reads:
            if place == ENGINE:
                self._send(tensor)
            else:
                self._bring(tensor)
        taken = layer.times[place] or 0.0
        if place == ENGINE:
            self.engine = max(self.engine, self.cores) + taken
            self.made |= dict.fromkeys(layer.writes, self.engine)
        else:
            self.cores += taken
        self.there |= {(tensor, place) for tensor in layer.writes}

    def _send(self, tensor: int) -> None:
        if (tensor, ENGINE) not in self.there:
            self.cores = self.engine = max(self.cores, self.engine) + self.problem.copies[tensor]
            self.there.add((tensor, ENGINE))

    def _bring(self, tensor: int) -> None:
        if tensor in self.made and (tensor, CORES) not in self.there:
            self.cores = max(self.cores, self.made[tensor]) + self.problem.copies[tensor]
            self.there.add((tensor, CORES))


def predicted(problem: Problem, engine: frozenset[int]) -> float:
    """Until a call has ended, if of the movable layers those are on the engine."""
    return _Run(problem, problem.assignment(engine)).time()


def solve(problem: Problem) -> frozenset[int]:
    """The movable layers that are on the engine: from all, none and the quicker ones on, runs of layers change places
    while that makes a call shorter."""
    movable = problem.movable
    quicker = frozenset(
        n for n in movable if (problem.layers[n].times[ENGINE] or 0) < (problem.layers[n].times[CORES] or 0)
    )
    starts = dict.fromkeys((frozenset(movable), frozenset(), quicker))
    trials = _Trials(problem)
    found = [_improved(start, movable, trials) for start in starts]
    return min(found, key=trials.time)


@dataclass
class _Trials:
    problem: Problem
    known: dict[frozenset[int], float] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return len(self.known) >= MOST_TRIALS

    def time(self, engine: frozenset[int]) -> float:
        if engine not in self.known:
            self.known[engine] = predicted(self.problem, engine)
        return self.known[engine]


def _improved(start: frozenset[int], movable: Sequence[int], trials: _Trials) -> frozenset[int]:
    best = start
    while not trials.is_over:
        changed = min((best ^ run for run in _runs(movable)), key=_within(trials), default=best)
        if trials.time(changed) >= trials.time(best):
            return best
        best = changed
    return best


def _within(trials: _Trials) -> Callable[[frozenset[int]], float]:
    """What an assignment takes, as long as more may be tried."""
    return lambda engine: trials.time(engine) if engine in trials.known or not trials.is_over else float("inf")


def _runs(movable: Sequence[int]) -> list[frozenset[int]]:
    """Layers that stand side by side: single ones, and of few layers all runs, of many those of some lengths."""
    count = len(movable)
    lengths = range(1, count + 1) if count <= 24 else [length for length in (1, 2, 4, 8, 16, 32, 64) if length <= count]
    return [frozenset(movable[at : at + length]) for length in lengths for at in range(count - length + 1)]

"""The widths of all layers, decided together: the least loss for a budget, or the least cost for a loss.

What each width of each layer does to the outputs is measured (`sensitivity.py`), what it costs is asked of the target
(`target_costs.py`), and the best sums of both are found at once (`knapsack.py`). Some of them are then quantised,
measured and planned as they are: that decides, not the estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.quantiser.floats import floats_of
from tilewright.quantiser.insert import with_quantisers
from tilewright.quantiser.knapsack import Choice, Point, front
from tilewright.quantiser.measure import Metric
from tilewright.quantiser.quantise import (
    DEFAULT,
    Options,
    Quantised,
    Ready,
    finished,
    measured_as_c,
    observed,
    rounded_weights,
)
from tilewright.quantiser.sensitivity import Noises, Weights, noises, weights_by_bits, wide_formats
from tilewright.quantiser.stream import Progress, silent
from tilewright.quantiser.target_costs import TargetCost, cost_on
from tilewright.quantiser.tune import Tuning
from tilewright.target.settings import Settings

NARROW = (6, 4, 3, 2)
"""Bits of weights that are tried beside 8."""
MOST_WIDE = 4
"""Tensors that may get 16 bits: those that help most; each is planned once to know what it costs."""
MOST_ASKED = 2 * MOST_WIDE
"""Of them, as some turn out to have no integer form in 16 bits."""
WORTH = 0.05
"""Of the noise that a network in 8 bits has: a tensor that takes away less is left in 8."""
POINTS = 7
"""Of the front that are quantised and measured."""
REFINED = 3
"""More of them, next to the one that is chosen."""

BUDGETS = {"max_cycles": "cycles", "max_bytes": "bytes", "max_loss": "", "min_snr": ""}
"""What can be asked for, and in which unit that is a cost."""


@dataclass(frozen=True)
class Budget:
    kind: str
    """One of BUDGETS."""
    limit: float

    def met_by(self, point: FrontPoint) -> bool:
        if self.kind == "max_loss":
            return point.loss <= self.limit
        if self.kind == "min_snr":
            return point.snr_db >= self.limit
        return point.cost.of(BUDGETS[self.kind]) <= self.limit

    def __str__(self) -> str:
        return f"--{self.kind.replace('_', '-')} {self.limit:g}"


@dataclass(frozen=True)
class FrontPoint:
    """Widths that no others are known to beat, as they were measured."""

    bits: Mapping[str, int]
    """Layer -> the bits of its weights."""
    wide: tuple[str, ...]
    """Tensors of 16 bits."""
    cost: TargetCost
    quantised: Quantised

    @property
    def snr_db(self) -> float:
        return self.quantised.report.snr_db

    @property
    def loss(self) -> float:
        """Of the metric; without one, the share of samples whose top-1 is another."""
        report = self.quantised.report
        if report.metric is None or report.metric_float is None:
            return 1 - report.agreement
        return report.metric_float - report.metric

    @property
    def average_bits(self) -> float:
        return sum(self.bits.values()) / max(len(self.bits), 1)

    def as_dict(self) -> dict[str, Any]:
        return {
            "cycles": self.cost.cycles, "bytes": self.cost.bytes, "snr_db": self.snr_db, "loss": self.loss,
            "metric": self.quantised.report.metric, "weight_bits": dict(self.bits), "int16": list(self.wide),
        }  # fmt: skip


@dataclass(frozen=True)
class Search:
    target: str
    unit: str
    points: tuple[FrontPoint, ...]
    """By cost."""
    chosen: FrontPoint

    def as_dict(self) -> dict[str, Any]:
        points = [{**point.as_dict(), "chosen": point is self.chosen} for point in self.points]
        return {"target": self.target, "unit": self.unit, "front": points}


def search(
    graph: Graph, samples: Any, target: str, settings: Settings, budget: Budget, options: Options = DEFAULT,
    metric: Metric | None = None, progress: Progress = silent,
) -> Search:  # fmt: skip
    """Quantise a network with the widths that a budget allows."""
    _check(budget, metric)
    ready = observed(graph, samples, options, progress)
    base = rounded_weights(ready, options, progress)
    cost = cost_on(with_quantisers(replace(ready.bare, weights=base)), target, settings)
    unit = BUDGETS[budget.kind] or ("cycles" if cost.cycles else "bytes")
    if unit == "cycles" and not cost.cycles:
        raise CompileError(str(budget), f"target {target} has no model of cycles", "use --max-bytes, or another target")
    problem = _problem(ready, base, target, settings, unit, cost, options, progress)
    measuring = _Measuring(problem, target, settings, replace(options, run_c=False), metric, progress)
    found = _chosen(budget, measuring, target)
    if not options.run_c:
        return found
    chosen = replace(found.chosen, quantised=measured_as_c(found.chosen.quantised, ready, metric, progress))
    return replace(found, points=tuple(chosen if one is found.chosen else one for one in found.points), chosen=chosen)


def _check(budget: Budget, metric: Metric | None) -> None:
    if budget.kind not in BUDGETS:
        raise CompileError(f"budget '{budget.kind}'", "is unknown", f"use {', '.join(BUDGETS)}")
    if budget.kind == "max_loss" and metric is None:
        raise CompileError(str(budget), "says a loss of the metric, and there is none", "give --labels or --metric")


# ---- the problem --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Option:
    bits: int
    """Of a layer's weights; 0 of a tensor alone."""
    wide: str
    """A tensor of 16 bits, if there is one."""
    choice: Choice


@dataclass(frozen=True)
class _Item:
    """One thing to decide: a layer and the tensor that it reads, or a tensor that is multiplied with no weights."""

    name: str
    options: tuple[_Option, ...]


@dataclass(frozen=True)
class _Problem:
    ready: Ready
    unit: str
    items: tuple[_Item, ...]

    def points(self) -> list[Point]:
        return front([[option.choice for option in item.options] for item in self.items])

    def picked(self, point: Point) -> dict[str, _Option]:
        return {item.name: item.options[pick] for item, pick in zip(self.items, point.picks, strict=True)}

    def bits(self, point: Point) -> dict[str, int]:
        return {name: option.bits for name, option in self.picked(point).items() if option.bits}

    def wide(self, point: Point) -> tuple[str, ...]:
        return tuple(option.wide for option in self.picked(point).values() if option.wide)


def _problem(
    ready: Ready, base: Weights, target: str, settings: Settings, unit: str, cost: TargetCost, options: Options,
    progress: Progress,
) -> _Problem:  # fmt: skip
    tuning = Tuning(options.learn_rounding, options.correct_bias, options.short_factors)
    narrow = weights_by_bits(ready, base, NARROW, tuning, progress)
    found = noises(ready, base, narrow, progress, options.processes)
    costs, helpful, asked = {8: cost}, _helpful(ready, found), len(narrow) + MOST_ASKED
    floats = len(floats_of(with_quantisers(replace(ready.bare, weights=base))))
    for number, (bits, weights) in enumerate(narrow.items()):
        progress("asking the target", number, asked)
        costs[bits] = cost_on(with_quantisers(replace(ready.bare, weights=weights)), target, settings)
    wide: dict[str, Choice] = {}
    for number, leader in enumerate(helpful):
        if len(wide) == MOST_WIDE:
            break
        progress("asking the target", len(narrow) + number, asked)
        formats = {**ready.bare.formats, **wide_formats(ready, leader)}
        graph = with_quantisers(replace(ready.bare, formats=formats, weights=base))
        if len(floats_of(graph)) > floats:
            # Some functions have an integer form for bytes alone: more bits are not worth floats in between.
            continue
        made = cost_on(graph, target, settings)
        wide[leader] = Choice(made.of(unit) - cost.of(unit), found.added(leader, "int16"))
    return _Problem(ready, unit, tuple(_items(ready, base, unit, costs, found, wide)))


def _items(
    ready: Ready, base: Weights, unit: str, costs: Mapping[int, TargetCost], found: Noises, wide: Mapping[str, Choice]
) -> Iterator[_Item]:
    """What is multiplied with weights of few bits is not 16 bits wide: no kernel gains from both."""
    leaders = {key: ready.found.leaders[ready.network.producers[key].inputs[0]] for key in base}
    readers = Counter(leaders.values())
    for key, leader in leaders.items():
        name = ready.network.producers[key].name
        losses = {8: 0.0} | {bits: max(found.added(key, f"w{bits}"), 0.0) for bits in costs if bits != 8}
        plain = [_Option(bits, "", Choice(cost.of_layer(unit, name), losses[bits])) for bits, cost in costs.items()]
        if leader in wide and readers[leader] == 1:
            own, more = plain[0].choice, wide[leader]
            plain.append(_Option(8, leader, Choice(own.cost + more.cost, own.loss + more.loss)))
        yield _Item(key, tuple(plain))
    for leader, choice in wide.items():
        if leader not in readers:
            yield _Item(f"tensor {leader}", (_Option(0, "", Choice(0.0, 0.0)), _Option(0, leader, choice)))


def _helpful(ready: Ready, found: Noises) -> list[str]:
    """The tensors that take most of the noise away if they have 16 bits."""
    tried = [name for name, width in found.changed if width == "int16" and ready.bare.formats[name].dtype == "int8"]
    gains = {name: -found.added(name, "int16") for name in tried}
    least = WORTH * found.base.error / (found.base.signal or 1.0)
    return sorted((name for name, gain in gains.items() if gain > least), key=lambda name: -gains[name])[:MOST_ASKED]


# ---- measured -----------------------------------------------------------------------------------------------------


@dataclass
class _Measuring:
    problem: _Problem
    target: str
    settings: Settings
    options: Options
    metric: Metric | None
    progress: Progress

    def __post_init__(self) -> None:
        self.front = self.problem.points()
        self.done: dict[int, FrontPoint] = {}

    def at(self, number: int) -> FrontPoint:
        """A point of the front, quantised and measured once."""
        if number not in self.done:
            self.done[number] = self._measured(self.front[number])
        return self.done[number]

    def _measured(self, point: Point) -> FrontPoint:
        bits, wide = self.problem.bits(point), self.problem.wide(point)
        quantised = finished(_with(self.problem.ready, bits, wide), self.options, self.metric, self.progress)
        named = _named(self.problem.ready.network, bits)
        return FrontPoint(named, wide, cost_on(quantised.graph, self.target, self.settings), quantised)

    def ordered(self) -> list[tuple[int, FrontPoint]]:
        return sorted(self.done.items())


def _named(graph: Graph, bits: Mapping[str, int]) -> dict[str, int]:
    """By the names of layers, as reports have them; those that share a name are called by their results."""
    names = {key: graph.producers[key].name for key in bits}
    shared = {name for name, count in Counter(names.values()).items() if count > 1}
    return {key if names[key] in shared else names[key]: count for key, count in bits.items()}


def _with(ready: Ready, bits: Mapping[str, int], wide: Sequence[str]) -> Ready:
    """The network with other widths."""
    formats = {name: form for leader in wide for name, form in wide_formats(ready, leader).items()}
    chosen = {**ready.chosen}
    chosen |= {name: replace(chosen[name], format=form, method="min-max") for name, form in formats.items()}
    bare = replace(ready.bare, formats={**ready.bare.formats, **formats})
    widths = {key: replace(width, weights=bits.get(key, width.weights)) for key, width in ready.widths.items()}
    return replace(ready, chosen=chosen, bare=bare, widths=widths)


def _chosen(budget: Budget, measuring: _Measuring, target: str) -> Search:
    count = len(measuring.front)
    for part in range(POINTS):
        measuring.at(round(part * (count - 1) / max(POINTS - 1, 1)))
    for _ in range(REFINED):
        if (between := _between(budget, measuring)) is not None:
            measuring.at(between)
    points = [point for _, point in measuring.ordered()]
    met = [point for point in points if budget.met_by(point)]
    unit = measuring.problem.unit
    if not met:
        raise _out_of_reach(budget, points, unit)
    if BUDGETS[budget.kind]:
        # Without a metric the ratio says more than how often few samples keep their top-1.
        chosen = min(met, key=lambda point: (point.loss if measuring.metric else 0.0, -point.snr_db))
    else:
        chosen = min(met, key=lambda point: (point.cost.of(unit), -point.snr_db))
    return Search(target, unit, tuple(sorted(points, key=lambda point: point.cost.of(unit))), chosen)


def _between(budget: Budget, measuring: _Measuring) -> int | None:
    """The point in the middle between two neighbours of which only one meets the budget."""
    ordered = measuring.ordered()
    for (first, one), (second, other) in pairwise(ordered):
        if budget.met_by(one) != budget.met_by(other) and second - first > 1:
            return (first + second) // 2
    return None


def _out_of_reach(budget: Budget, points: Sequence[FrontPoint], unit: str) -> CompileError:
    cheapest = min(points, key=lambda point: point.cost.of(unit))
    finest = max(points, key=lambda point: point.snr_db)
    seen = (
        f"no widths reach it: the cheapest take {cheapest.cost.of(unit):,} {unit} with {cheapest.snr_db:.1f} dB, "
        f"the finest {finest.cost.of(unit):,} {unit} with {finest.snr_db:.1f} dB"
    )
    more = f"allow more {unit}" if BUDGETS[budget.kind] else "ask for less, or use --learn-rounding and more samples"
    return CompileError(str(budget), seen, more)

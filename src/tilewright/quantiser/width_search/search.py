"""The widths of all layers, decided together: the least loss for a budget, or the least cost for a loss.

What each width of each layer does to the outputs is measured (`sensitivity.py`), what it costs is asked of the target
(`target_costs.py`), and the best sums of both are found at once (`knapsack.py`). Some of them are then quantised,
measured and planned as they are: that decides, not the estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.quantiser.cost.measure import Metric
from tilewright.quantiser.insert import with_quantisers
from tilewright.quantiser.quantise import (
    DEFAULT,
    Options,
    Quantised,
    Ready,
    finished,
    measured_as_c,
    observed,
    rounded_weights,
    with_weights,
)
from tilewright.quantiser.samples.blas_threads import one_thread
from tilewright.quantiser.samples.stream import Progress, silent
from tilewright.quantiser.weights import QuantisedWeights
from tilewright.quantiser.width_search.decision import AS_PREPARED, Decision, decided
from tilewright.quantiser.width_search.knapsack import Point
from tilewright.quantiser.width_search.problem import Asking, Problem, problem_of
from tilewright.quantiser.width_search.target_costs import TargetCost, cost_on
from tilewright.records import dataclass
from tilewright.target.settings import Settings

POINTS = 7
"""Of the front that are quantised and measured."""
REFINED = 3
"""More of them, next to the one that is chosen."""
ROUNDS = 4
"""How often the finest widths are begun from again where they lose too much: noises of few layers hide those of others,
and only some tensors are asked for at a time."""

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
    floats: tuple[str, ...]
    """Tensors in floats, and layers that are so by themselves."""
    decision: Decision
    cost: TargetCost
    quantised: Quantised

    @property
    def wide(self) -> tuple[str, ...]:
        """Tensors of 16 bits."""
        return tuple(sorted(self.decision.wide))

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

    def as_dict(self) -> dict[str, Any]:
        return {
            "cycles": self.cost.cycles, "bytes": self.cost.bytes, "snr_db": self.snr_db, "loss": self.loss,
            "metric": self.quantised.report.metric, "weight_bits": dict(self.bits), "int16": list(self.wide),
            "float": list(self.floats),
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


@one_thread()
def search(
    graph: Graph, samples: Any, target: str, settings: Settings, budget: Budget, options: Options = DEFAULT,
    metric: Metric | None = None, progress: Progress = silent,
) -> Search:  # fmt: skip
    """Quantise a network with the widths that a budget allows."""
    _check(budget, metric)
    ready = observed(graph, samples, options, progress)
    base = rounded_weights(ready, options, progress)
    cost = cost_on(with_quantisers(with_weights(ready, base)), target, settings)
    unit = BUDGETS[budget.kind] or ("cycles" if cost.cycles else "bytes")
    if unit == "cycles" and not cost.cycles:
        raise CompileError(str(budget), f"target {target} has no model of cycles", "use --max-bytes, or another target")
    rounds = _Rounds(budget, Asking(target, settings, unit), replace(options, run_c=False), metric, progress)
    found = _chosen(budget, rounds.points(ready, base, cost), target, unit, metric is not None)
    if not options.run_c:
        return found
    chosen = replace(found.chosen, quantised=measured_as_c(found.chosen.quantised, ready, metric, progress))
    return replace(found, points=tuple(chosen if one is found.chosen else one for one in found.points), chosen=chosen)


def _check(budget: Budget, metric: Metric | None) -> None:
    if budget.kind not in BUDGETS:
        raise CompileError(f"budget '{budget.kind}'", "is unknown", f"use {', '.join(BUDGETS)}")
    if budget.kind == "max_loss" and metric is None:
        raise CompileError(
            str(budget), "limits the loss of a metric, but no metric is given", "give --labels or --metric"
        )


# ---- measured -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rounds:
    budget: Budget
    ask: Asking
    options: Options
    metric: Metric | None
    progress: Progress

    def points(self, ready: Ready, base: Mapping[str, QuantisedWeights], cost: TargetCost) -> list[FrontPoint]:
        """Of one front; of more of them, each from the finest point so far, as long as a loss is not reached."""
        found, taken = list[FrontPoint](), AS_PREPARED
        for _ in range(ROUNDS):
            problem = problem_of(ready, base, cost, self.ask, self.options, self.progress)
            found += _Measuring(problem, taken, self).points()
            finest = max(found, key=lambda point: point.snr_db)
            if BUDGETS[self.budget.kind] or any(map(self.budget.met_by, found)) or finest.decision == taken:
                break
            ready, taken = decided(ready, finest.decision), finest.decision
            base = rounded_weights(ready, self.options, self.progress)
            cost = self.ask.cost(ready, base)
        return found


@dataclass
class _Measuring:
    problem: Problem
    taken: Decision
    """What the problem begins with."""
    rounds: _Rounds

    def __post_init__(self) -> None:
        self.front = self.problem.points()
        self.done: dict[int, FrontPoint] = {}

    def points(self) -> list[FrontPoint]:
        """Some of all over the front, and some more next to the limit."""
        for part in range(POINTS):
            self._measure(round(part * (len(self.front) - 1) / max(POINTS - 1, 1)))
        for _ in range(REFINED):
            if (between := self._between()) is not None:
                self._measure(between)
        return [point for _, point in sorted(self.done.items())]

    def _measure(self, number: int) -> None:
        """A point of the front, quantised and measured once."""
        if number not in self.done:
            self.done[number] = self._measured(self.front[number])

    def _measured(self, point: Point) -> FrontPoint:
        ready, rounds, decision = self.problem.ready, self.rounds, self.problem.decision(point)
        with_widths = decided(ready, decision)
        quantised = finished(with_widths, rounds.options, rounds.metric, rounds.progress)
        cost = cost_on(quantised.graph, rounds.ask.target, rounds.ask.settings)
        bits = _named(ready.network, {key: width.weights for key, width in with_widths.widths.items()})
        taken = self.taken | decision
        floats = (*sorted(taken.unrounded), *_named(ready.network, dict.fromkeys(sorted(taken.float_layers), 0)))
        return FrontPoint(bits, floats, taken, cost, quantised)

    def _between(self) -> int | None:
        """The point in the middle between two neighbours of which only one meets the budget."""
        met_by = self.rounds.budget.met_by
        for (first, one), (second, other) in pairwise(sorted(self.done.items())):
            if met_by(one) != met_by(other) and second - first > 1:
                return (first + second) // 2
        return None


def _named(graph: Graph, bits: Mapping[str, int]) -> dict[str, int]:
    """By the names of layers, as reports have them; those that share a name are called by their results."""
    names = {key: graph.producers[key].name for key in bits}
    shared = {name for name, count in Counter(names.values()).items() if count > 1}
    return {key if names[key] in shared else names[key]: count for key, count in bits.items()}


def _chosen(budget: Budget, points: Sequence[FrontPoint], target: str, unit: str, has_metric: bool) -> Search:
    met = [point for point in points if budget.met_by(point)]
    if not met:
        raise _out_of_reach(budget, points, unit)
    if BUDGETS[budget.kind]:
        # Without a metric the ratio says more than how often few samples keep their top-1.
        chosen = min(met, key=lambda point: (point.loss if has_metric else 0.0, -point.snr_db))
    else:
        chosen = min(met, key=lambda point: (point.cost.of(unit), -point.snr_db))
    return Search(target, unit, tuple(sorted(points, key=lambda point: point.cost.of(unit))), chosen)


def _out_of_reach(budget: Budget, points: Sequence[FrontPoint], unit: str) -> CompileError:
    cheapest = min(points, key=lambda point: point.cost.of(unit))
    finest = max(points, key=lambda point: point.snr_db)
    seen = (
        f"no bit widths reach it: the cheapest take {cheapest.cost.of(unit):,} {unit} with {cheapest.snr_db:.1f} dB, "
        f"the most accurate {finest.cost.of(unit):,} {unit} with {finest.snr_db:.1f} dB"
    )
    more = f"allow more {unit}" if BUDGETS[budget.kind] else "ask for less, or use --learn-rounding or more samples"
    return CompileError(str(budget), seen, more)

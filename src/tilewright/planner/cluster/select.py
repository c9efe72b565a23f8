"""Which tiling option each layer takes and which activations stay in L1, over the whole network, with a bound on the
cycles.

One linear model: every layer takes one option; an option expects some tensors in L1 and others in L2; at every step
the tensors in L1, the buffers of the layer and what is prefetched for later layers fit L1 together. Offsets are found
afterwards: where they do not fit, the model is solved again with a smaller capacity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tilewright.errors import present
from tilewright.memory import cp_sat

UNIT = 8
"""Sizes are counted in units of this many bytes: the model's numbers stay small."""


@dataclass(frozen=True)
class Alternative:
    cycles: int
    bytes: int
    """Needed during the layer's own step."""
    before: int
    """Needed already during the `ahead` steps before."""
    ahead: int
    l1: frozenset[str]
    """Of the layer's movable tensors, those that must be in L1; the others must not."""
    constants: int = 0
    """Bytes of its constants in L2."""
    kept: int = 0
    """Bytes of its constants in the weight memory."""
    l3: frozenset[str] = frozenset()
    """Of the layer's spillable tensors, those that must be in L3."""
    staging_bytes: int = 0
    """Bytes of its L2 staging buffers, for what is in flight between L3 and L1."""


@dataclass(frozen=True)
class Tensor:
    name: str
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class L2Pressure:
    """L2 does not hold all activations: what it has at each step, and what the memories to spill to have."""

    spillable: tuple[frozenset[str], ...]
    """For each layer the tensors that may live behind the home."""
    budgets: tuple[int, ...]
    """Bytes of L2 that each step has for activations and staging buffers."""
    beside: Mapping[str, int]
    """Bytes of the memories beside L2, which any tensor may live in."""
    behind: int
    """Bytes for them there."""


@dataclass(frozen=True)
class Spilled:
    """Activations that live neither in L1 nor in L2."""

    beside: Mapping[str, str] = field(default_factory=dict)
    """Those in memories beside L2 -> the memory."""
    behind: frozenset[str] = frozenset()
    """In the memory behind the home."""


@dataclass(frozen=True)
class Problem:
    layers: tuple[tuple[Alternative, ...], ...]
    movable: tuple[frozenset[str], ...]
    """For each layer the tensors that its options speak about."""
    tensors: tuple[Tensor, ...]
    """Those that may be in L1, or all of them under L2 pressure."""
    capacity: int
    constants: int = 2**31
    """Bytes of L2 for constants."""
    kept: int = 2**31
    """Bytes of the weight memory for constants."""
    pressure: L2Pressure | None = None
    """Where L2 does not hold what is not in L1."""

    @cached_property
    def longest_prefetch(self) -> int:
        """How many steps before its own something is fetched at the most."""
        return max((alternative.ahead for group in self.layers for alternative in group), default=0)


@dataclass(frozen=True)
class Solution:
    alternatives: tuple[int, ...]
    """For each layer the position of its option."""
    l1: frozenset[str]
    cycles: int
    bound: int
    """No choice is predicted to take fewer cycles."""
    spilled: Spilled = field(default_factory=Spilled)

    @property
    def gap(self) -> float:
        return (self.cycles - self.bound) / self.bound if self.bound else 0.0


@dataclass(frozen=True)
class Model:
    """A problem as the solver takes it, with the variables that say what is chosen."""

    model: Any
    taken: Sequence[Sequence[Any]]
    """For each layer and option, whether it is taken."""
    l1: Mapping[str, Any]
    elsewhere: _Elsewhere | None


def modelled(problem: Problem) -> Model:
    """Sets come in order, so that a problem always has the same model, and with it the same answer."""
    cp_model = cp_sat.load()
    model = cp_model.CpModel()
    taken = [[model.new_bool_var("") for _ in alternatives] for alternatives in problem.layers]
    l1 = {tensor.name: model.new_bool_var("") for tensor in problem.tensors}
    for alternatives, chosen, movable in zip(problem.layers, taken, problem.movable, strict=True):
        model.add_exactly_one(chosen)
        for name in sorted(movable):
            with_it = [var for var, alternative in zip(chosen, alternatives, strict=True) if name in alternative.l1]
            model.add(cp_model.LinearExpr.sum(with_it) == l1[name])
    for step in range(len(problem.layers)):
        model.add(_total(_used(problem, taken, l1, step)) <= problem.capacity // UNIT)
    elsewhere = _elsewhere(model, problem, taken, l1) if problem.pressure else None
    pairs = _pairs(problem, taken)
    for sizes, budget in (
        ([alternative.constants for alternative, _ in pairs], problem.constants),
        ([alternative.kept for alternative, _ in pairs], problem.kept),
    ):
        if any(sizes):
            needed = [(-(-size // UNIT), var) for size, (_, var) in zip(sizes, pairs, strict=True)]
            model.add(_total(needed) <= budget // UNIT)
    moving = elsewhere.cost(problem) if elsewhere else 0
    model.minimize(_total([(alternative.cycles, var) for alternative, var in pairs]) + moving)
    return Model(model, taken, l1, elsewhere)


def choose(problem: Problem, time_limit: float = 10.0) -> Solution | None:
    """The options with the fewest predicted cycles, or None where none fit. The limit is work, not time."""
    cp_model, made = cp_sat.load(), modelled(problem)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    # It would put its own handler in place of ours, and leave none.
    solver.parameters.catch_sigint_signal = False
    solver.parameters.max_deterministic_time = time_limit
    solver.parameters.linearization_level = 2
    # Together they take longer than all the rest, and find nothing in models of this kind.
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.symmetry_level = 0
    status = solver.solve(made.model)
    if status == cp_model.UNKNOWN:
        # Too little work for any choice does not mean that none fits.
        solver.parameters.max_deterministic_time = math.inf
        solver.parameters.stop_after_first_solution = True
        status = solver.solve(made.model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    picked = tuple(next(i for i, var in enumerate(chosen) if solver.value(var)) for chosen in made.taken)
    stays = frozenset(name for name, var in made.l1.items() if solver.value(var))
    spilled = made.elsewhere.taken(solver) if made.elsewhere else Spilled()
    return Solution(picked, stays, round(solver.objective_value), round(solver.best_objective_bound), spilled)


def _total(terms: Sequence[tuple[int, Any]]) -> Any:
    """The sum of variables, each times its number."""
    from ortools.sat.python import cp_model

    return cp_model.LinearExpr.weighted_sum([var for _, var in terms], [number for number, _ in terms])


def _used(problem: Problem, taken: Sequence[Sequence[Any]], l1: Mapping[str, Any], step: int) -> list[tuple[int, Any]]:
    """Units of L1 that each variable means during a step."""
    own = [(alternative.bytes, var) for alternative, var in zip(problem.layers[step], taken[step], strict=True)]
    for later in range(step + 1, min(step + 1 + problem.longest_prefetch, len(problem.layers))):
        alternatives = zip(problem.layers[later], taken[later], strict=True)
        own += [(alternative.before, var) for alternative, var in alternatives if later - alternative.ahead <= step]
    own += [(t.bytes, l1[t.name]) for t in problem.tensors if t.first <= step <= t.last]
    return [(-(-size // UNIT), var) for size, var in own if size]


def _pairs(problem: Problem, taken: Sequence[Sequence[Any]]) -> list[tuple[Alternative, Any]]:
    rows = zip(problem.layers, taken, strict=True)
    return [
        (alternative, var)
        for alternatives, chosen in rows
        for alternative, var in zip(alternatives, chosen, strict=True)
    ]


# ---- under L2 pressure -----------------------------------------------------------------------------------------------

BESIDE_COST = 64
"""Bytes in a memory beside the home that count as a cycle: a small price, less than staging, so that the home is
preferred."""


@dataclass(frozen=True)
class _Elsewhere:
    """Variables that say which tensors live in each memory beside L2, and which behind it."""

    beside: Mapping[str, Mapping[str, Any]]
    behind: Mapping[str, Any]

    def cost(self, problem: Problem) -> Any:
        found = self.beside.values()
        return sum(-(-tensor.bytes // BESIDE_COST) * var[tensor.name] for var in found for tensor in problem.tensors)

    def taken(self, solver: Any) -> Spilled:
        moved = {n: memory for memory, group in self.beside.items() for n, var in group.items() if solver.value(var)}
        return Spilled(moved, frozenset(n for n, var in self.behind.items() if solver.value(var)))


def _elsewhere(model: Any, problem: Problem, taken: Sequence[Sequence[Any]], l1: Mapping[str, Any]) -> _Elsewhere:
    """A tensor has one home, every layer expects it there, and no memory holds more than it has."""
    pressure = present(problem.pressure, "plan", "tensors are spilled though there is no L2 pressure")
    *others, behind = ({t.name: model.new_bool_var("") for t in problem.tensors} for _ in (*pressure.beside, "behind"))
    beside = dict(zip(pressure.beside, others, strict=True))
    for tensor in problem.tensors:
        model.add_at_most_one(l1[tensor.name], *(group[tensor.name] for group in others), behind[tensor.name])
    spillable = frozenset().union(*pressure.spillable)
    movable = frozenset().union(*problem.movable)
    model.add(sum(var for name, var in behind.items() if name not in spillable) == 0)
    model.add(sum(var for name, var in l1.items() if name not in movable) == 0)
    for alternatives, chosen, names in zip(problem.layers, taken, pressure.spillable, strict=True):
        for name in sorted(names):
            with_it = [var for var, alternative in zip(chosen, alternatives, strict=True) if name in alternative.l3]
            model.add(sum(with_it) == behind[name])
    for step, budget in enumerate(pressure.budgets):
        live = [(t.name, -(-t.bytes // UNIT)) for t in problem.tensors if t.first <= step <= t.last]
        staging_bytes = [
            (-(-o.staging_bytes // UNIT), var) for o, var in zip(problem.layers[step], taken[step], strict=True)
        ]
        l2 = sum(size * (1 - l1[name] - sum(one[name] for one in others) - behind[name]) for name, size in live)
        model.add(l2 + sum(size * var for size, var in staging_bytes if size) <= budget // UNIT)
        for memory, group in beside.items():
            model.add(sum(size * group[name] for name, size in live) <= pressure.beside[memory] // UNIT)
        model.add(sum(size * behind[name] for name, size in live) <= pressure.behind // UNIT)
    return _Elsewhere(beside, behind)

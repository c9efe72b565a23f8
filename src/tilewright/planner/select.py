"""Which way each layer is run and which activations stay near, over the whole network, with a bound on the cycles.

One linear model: every layer takes one option; an option expects some tensors near and others far; what is near at a
step, the buffers of its layer and what is fetched early for the next ones fit the near memory. Offsets are found
afterwards: where they do not fit, the model is solved again with less room.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

UNIT = 8
"""Sizes are counted in units of this many bytes: the model's numbers stay small."""


FARTHEST = 7
"""How many steps ahead something may be fetched or moved; runtime/pipeline.c knows as many."""


@dataclass(frozen=True)
class Option:
    cycles: int
    bytes: int
    """Needed during the layer's own step."""
    before: int
    """Needed already during the `ahead` steps before."""
    ahead: int
    near: frozenset[str]
    """Of the layer's movable tensors, those that must be near; the others must be far."""
    constants: int = 0
    """Bytes of its constants in the far memory."""
    kept: int = 0
    """Bytes of its constants in the weight memory."""
    deep: frozenset[str] = frozenset()
    """Of the layer's storable tensors, those that must be in the store."""
    passing: int = 0
    """Bytes of the far memory for what passes through it from and to the store."""


@dataclass(frozen=True)
class Tensor:
    name: str
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Scarce:
    """A far memory that does not hold all activations, and what there is beside it."""

    storable: tuple[frozenset[str], ...]
    """For each layer the tensors that may live in the store."""
    rooms: tuple[int, ...]
    """Bytes of the far memory that each step has for activations and for what passes through it."""
    spare: int
    """Bytes of the spare memory, which any tensor may live in."""
    store: int
    """Bytes of the store."""


@dataclass(frozen=True)
class Moved:
    """Activations that live neither near nor far."""

    spare: frozenset[str] = frozenset()
    deep: frozenset[str] = frozenset()
    """In the store."""


@dataclass(frozen=True)
class Problem:
    layers: tuple[tuple[Option, ...], ...]
    movable: tuple[frozenset[str], ...]
    """For each layer the tensors that its options speak about."""
    tensors: tuple[Tensor, ...]
    """Those that may be near, or all where the far memory is scarce."""
    capacity: int
    constants: int = 2**31
    """Bytes of the far memory for constants."""
    kept: int = 2**31
    """Bytes of the weight memory for constants."""
    scarce: Scarce | None = None
    """Where the far memory does not hold what is not near."""


@dataclass(frozen=True)
class Solution:
    options: tuple[int, ...]
    """For each layer the position of its option."""
    near: frozenset[str]
    cycles: int
    bound: int
    """No choice is predicted to take fewer cycles."""
    moved: Moved = field(default_factory=Moved)

    @property
    def gap(self) -> float:
        return (self.cycles - self.bound) / self.bound if self.bound else 0.0


def choose(problem: Problem, time_limit: float = 10.0) -> Solution | None:
    """The options with the fewest predicted cycles, or None where none fit. The limit is work, not time."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    taken = [[model.new_bool_var("") for _ in options] for options in problem.layers]
    near = {tensor.name: model.new_bool_var("") for tensor in problem.tensors}
    for options, chosen, movable in zip(problem.layers, taken, problem.movable, strict=True):
        model.add_exactly_one(chosen)
        for name in movable:
            with_it = [var for var, option in zip(chosen, options, strict=True) if name in option.near]
            model.add(sum(with_it) == near[name])
    for step in range(len(problem.layers)):
        model.add(_used(problem, taken, near, step) <= problem.capacity // UNIT)
    elsewhere = _elsewhere(model, problem, taken, near) if problem.scarce else None
    pairs = _pairs(problem, taken)
    for sizes, room in (
        ([option.constants for option, _ in pairs], problem.constants),
        ([option.kept for option, _ in pairs], problem.kept),
    ):
        if any(sizes):
            model.add(sum(-(-size // UNIT) * var for size, (_, var) in zip(sizes, pairs, strict=True)) <= room // UNIT)
    moving = elsewhere.cost(problem) if elsewhere else 0
    model.minimize(sum(option.cycles * var for option, var in pairs) + moving)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = time_limit
    solver.parameters.linearization_level = 2
    status = solver.solve(model)
    if status == cp_model.UNKNOWN:
        # Too little work for any choice does not mean that none fits.
        solver.parameters.max_deterministic_time = math.inf
        solver.parameters.stop_after_first_solution = True
        status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    picked = tuple(next(i for i, var in enumerate(chosen) if solver.value(var)) for chosen in taken)
    stays = frozenset(name for name, var in near.items() if solver.value(var))
    moved = Moved(*(elsewhere.taken(solver))) if elsewhere else Moved()
    return Solution(picked, stays, round(solver.objective_value), round(solver.best_objective_bound), moved)


def _used(problem: Problem, taken: Sequence[Sequence[Any]], near: dict[str, Any], step: int) -> Any:
    """Units of the near memory in use during a step, as an expression over the variables."""
    own = [(option.bytes, var) for option, var in zip(problem.layers[step], taken[step], strict=True)]
    for later in range(step + 1, min(step + 1 + FARTHEST, len(problem.layers))):
        options = zip(problem.layers[later], taken[later], strict=True)
        own += [(option.before, var) for option, var in options if later - option.ahead <= step]
    own += [(t.bytes, near[t.name]) for t in problem.tensors if t.first <= step <= t.last]
    return sum(-(-size // UNIT) * var for size, var in own if size)


def _pairs(problem: Problem, taken: Sequence[Sequence[Any]]) -> list[tuple[Option, Any]]:
    rows = zip(problem.layers, taken, strict=True)
    return [(option, var) for options, chosen in rows for option, var in zip(options, chosen, strict=True)]


# ---- where the far memory is scarce ----------------------------------------------------------------------------------

SPARE_COST = 64
"""Bytes in the spare memory that count as a cycle: no reason to move a tensor there, but cheaper than the store."""


@dataclass(frozen=True)
class _Elsewhere:
    """Variables that say which tensors live in the spare memory, and which in the store."""

    spare: Mapping[str, Any]
    deep: Mapping[str, Any]

    def cost(self, problem: Problem) -> Any:
        return sum(-(-tensor.bytes // SPARE_COST) * self.spare[tensor.name] for tensor in problem.tensors)

    def taken(self, solver: Any) -> list[frozenset[str]]:
        return [frozenset(n for n, var in group.items() if solver.value(var)) for group in (self.spare, self.deep)]


def _elsewhere(model: Any, problem: Problem, taken: Sequence[Sequence[Any]], near: Mapping[str, Any]) -> _Elsewhere:
    """A tensor has one home, every layer expects it there, and no memory holds more than it has."""
    scarce = problem.scarce
    assert scarce is not None
    spare, deep = ({tensor.name: model.new_bool_var("") for tensor in problem.tensors} for _ in range(2))
    for tensor in problem.tensors:
        model.add_at_most_one(near[tensor.name], spare[tensor.name], deep[tensor.name])
    storable = frozenset().union(*scarce.storable)
    movable = frozenset().union(*problem.movable)
    model.add(sum(var for name, var in deep.items() if name not in storable) == 0)
    model.add(sum(var for name, var in near.items() if name not in movable) == 0)
    for options, chosen, names in zip(problem.layers, taken, scarce.storable, strict=True):
        for name in names:
            with_it = [var for var, option in zip(chosen, options, strict=True) if name in option.deep]
            model.add(sum(with_it) == deep[name])
    for step, room in enumerate(scarce.rooms):
        live = [(t.name, -(-t.bytes // UNIT)) for t in problem.tensors if t.first <= step <= t.last]
        passing = [(-(-o.passing // UNIT), var) for o, var in zip(problem.layers[step], taken[step], strict=True)]
        far = sum(size * (1 - near[name] - spare[name] - deep[name]) for name, size in live)
        model.add(far + sum(size * var for size, var in passing if size) <= room // UNIT)
        model.add(sum(size * spare[name] for name, size in live) <= scarce.spare // UNIT)
        model.add(sum(size * deep[name] for name, size in live) <= scarce.store // UNIT)
    return _Elsewhere(spare, deep)

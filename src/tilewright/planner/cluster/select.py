"""Which tiling option each layer takes and which activations stay in L1, over the whole network, with a bound on the
cycles.

One linear model: every layer takes one option; an option expects some tensors in L1 and others in L2; at every step
the tensors in L1, the buffers of the layer and what is prefetched for later layers fit L1 together. Offsets are found
afterwards: where they do not fit, the model is solved again with a smaller capacity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from typing import NamedTuple

from tilewright.errors import present
from tilewright.memory import cp_sat
from tilewright.memory.cp_sat import Term, Var
from tilewright.records import dataclass

UNIT = 8
"""Sizes are counted in units of this many bytes: the model's numbers stay small."""


class Alternative(NamedTuple):
    cycles: int
    bytes: int
    """Needed during the layer's own step."""
    before: int
    """Needed already during the `ahead` steps before."""
    ahead: int
    inside: frozenset[str]
    """Of the layer's movable tensors, those that must be in L1; the others must not."""
    constants: int = 0
    """Bytes of its constants in L2."""
    kept: int = 0
    """Bytes of its constants in the weight memory."""
    spilled: frozenset[str] = frozenset()
    """Of the layer's spillable tensors, those that must be behind the home."""
    staging_bytes: int = 0
    """Bytes of its L2 staging buffers, for what is in flight between L3 and L1."""


@dataclass(frozen=True)
class Tensor:
    name: str
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class HomePressure:
    """L2 does not hold all activations: what it has at each step, and what the memories to spill to have."""

    spillable: tuple[frozenset[str], ...]
    """For each layer the tensors that may live behind the home."""
    budgets: tuple[int, ...]
    """Bytes of L2 that each step has for activations and staging buffers."""
    beside: Mapping[str, int]
    """Bytes of the memories beside L2, which any tensor may live in that is not pinned."""
    behind: int
    """Bytes for those that are spilled there."""
    pinned: frozenset[str] = frozenset()
    """Tensors that stay in L2: states, which other networks may share."""


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
    pressure: HomePressure | None = None
    """Where L2 does not hold what is not in L1."""

    @cached_property
    def longest_prefetch(self) -> int:
        """How many steps before its own something is fetched at the most."""
        return max((alternative.ahead for group in self.layers for alternative in group), default=0)


@dataclass(frozen=True)
class Solution:
    alternatives: tuple[int, ...]
    """For each layer the position of its option."""
    inside: frozenset[str]
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

    model: cp_sat.Model
    taken: Sequence[Sequence[Var]]
    """For each layer and option, whether it is taken."""
    inside: Mapping[str, Var]
    elsewhere: _Elsewhere | None


def modelled(problem: Problem) -> Model:
    """Sets come in order, so that a problem always has the same model, and with it the same answer."""
    model = cp_sat.Model()
    taken = [[model.boolean() for _ in alternatives] for alternatives in problem.layers]
    inside = {tensor.name: model.boolean() for tensor in problem.tensors}
    for alternatives, chosen, movable in zip(problem.layers, taken, problem.movable, strict=True):
        model.exactly_one(chosen)
        for name in sorted(movable):
            with_it = [var for var, alternative in zip(chosen, alternatives, strict=True) if name in alternative.inside]
            model.equal([*ones(with_it), (-1, inside[name])], 0)
    for step in range(len(problem.layers)):
        model.at_most(_used(problem, taken, inside, step), problem.capacity // UNIT)
    elsewhere = _elsewhere(model, problem, taken, inside) if problem.pressure else None
    pairs = _pairs(problem, taken)
    for sizes, budget in (
        ([alternative.constants for alternative, _ in pairs], problem.constants),
        ([alternative.kept for alternative, _ in pairs], problem.kept),
    ):
        if any(sizes):
            needed = [(-(-size // UNIT), var) for size, (_, var) in zip(sizes, pairs, strict=True)]
            model.at_most(needed, budget // UNIT)
    moving = elsewhere.cost(problem) if elsewhere else []
    model.minimize([*((alternative.cycles, var) for alternative, var in pairs), *moving])
    return Model(model, taken, inside, elsewhere)


def choose(problem: Problem, time_limit: float = 10.0) -> Solution | None:
    """The options with the fewest predicted cycles, or None where none fit. The limit is work, not time."""
    made = modelled(problem)
    # Probing and symmetries take longer than all the rest, and find nothing in models of this kind.
    solve = partial(made.model.solve, linearization_level=2, cp_model_probing_level=0, symmetry_level=0)
    answer = solve(max_deterministic_time=time_limit)
    if answer.status == cp_sat.UNKNOWN:
        # Too little work for any choice does not mean that none fits.
        answer = solve(max_deterministic_time=math.inf, stop_after_first_solution=True)
    if not answer.is_found:
        return None
    picked = tuple(next(i for i, var in enumerate(chosen) if answer.values[var]) for chosen in made.taken)
    stays = frozenset(name for name, var in made.inside.items() if answer.values[var])
    spilled = made.elsewhere.taken(answer.values) if made.elsewhere else Spilled()
    return Solution(picked, stays, round(answer.objective), round(answer.bound), spilled)


def ones(variables: Iterable[Var]) -> list[Term]:
    return [(1, variable) for variable in variables]


def _used(problem: Problem, taken: Sequence[Sequence[Var]], inside: Mapping[str, Var], step: int) -> list[Term]:
    """Units of L1 that each variable means during a step."""
    own = [(alternative.bytes, var) for alternative, var in zip(problem.layers[step], taken[step], strict=True)]
    for later in range(step + 1, min(step + 1 + problem.longest_prefetch, len(problem.layers))):
        alternatives = zip(problem.layers[later], taken[later], strict=True)
        own += [(alternative.before, var) for alternative, var in alternatives if later - alternative.ahead <= step]
    own += [(t.bytes, inside[t.name]) for t in problem.tensors if t.first <= step <= t.last]
    return [(-(-size // UNIT), var) for size, var in own if size]


def _pairs(problem: Problem, taken: Sequence[Sequence[Var]]) -> list[tuple[Alternative, Var]]:
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

    beside: Mapping[str, Mapping[str, Var]]
    behind: Mapping[str, Var]

    def cost(self, problem: Problem) -> list[Term]:
        found = self.beside.values()
        return [(-(-tensor.bytes // BESIDE_COST), var[tensor.name]) for var in found for tensor in problem.tensors]

    def taken(self, values: Sequence[int]) -> Spilled:
        moved = {n: memory for memory, group in self.beside.items() for n, var in group.items() if values[var]}
        return Spilled(moved, frozenset(n for n, var in self.behind.items() if values[var]))


def _elsewhere(
    model: cp_sat.Model, problem: Problem, taken: Sequence[Sequence[Var]], inside: Mapping[str, Var]
) -> _Elsewhere:
    """A tensor has one home, every layer expects it there, and no memory holds more than it has."""
    pressure = present(problem.pressure, "plan", "tensors are spilled though there is no L2 pressure")
    *others, behind = ({t.name: model.boolean() for t in problem.tensors} for _ in (*pressure.beside, "behind"))
    beside = dict(zip(pressure.beside, others, strict=True))
    for tensor in problem.tensors:
        model.at_most_one([inside[tensor.name], *(group[tensor.name] for group in others), behind[tensor.name]])
    spillable = frozenset().union(*pressure.spillable)
    movable = frozenset().union(*problem.movable)
    model.equal(ones(var for name, var in behind.items() if name not in spillable), 0)
    model.equal(ones(var for name, var in inside.items() if name not in movable), 0)
    model.equal(ones(var for group in others for name, var in group.items() if name in pressure.pinned), 0)
    for alternatives, chosen, names in zip(problem.layers, taken, pressure.spillable, strict=True):
        for name in sorted(names):
            with_it = [
                var for var, alternative in zip(chosen, alternatives, strict=True) if name in alternative.spilled
            ]
            model.equal([*ones(with_it), (-1, behind[name])], 0)
    for step, budget in enumerate(pressure.budgets):
        live = [(t.name, -(-t.bytes // UNIT)) for t in problem.tensors if t.first <= step <= t.last]
        staging_bytes = [
            (-(-o.staging_bytes // UNIT), var) for o, var in zip(problem.layers[step], taken[step], strict=True)
        ]
        # What is alive lies in L2, but for what lies elsewhere.
        away = [(-size, group[name]) for group in (inside, *others, behind) for name, size in live]
        model.at_most([*away, *staging_bytes], budget // UNIT - sum(size for _, size in live))
        for memory, group in beside.items():
            model.at_most([(size, group[name]) for name, size in live], pressure.beside[memory] // UNIT)
        model.at_most([(size, behind[name]) for name, size in live], pressure.behind // UNIT)
    return _Elsewhere(beside, behind)

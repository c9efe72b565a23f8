"""Tiling and memory of a network on a cluster, solved together: a way for every layer, a home for every tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.errors import CompileError, printable
from tilewright.ir.graph import Graph
from tilewright.memory import allocator
from tilewright.memory.validate import check_placement
from tilewright.passes.aliasing import all_owners, home_of, insides
from tilewright.planner import select
from tilewright.planner.candidates import Candidate, Estimate, layer_options, layers_of
from tilewright.planner.capacity import L1Budget, l1_budget, with_far_stacks, with_stacks_in_l1
from tilewright.planner.l1_shortage import no_option_fits
from tilewright.planner.l2_buffers import SCRATCH, constants_in_l3, staging_buffer
from tilewright.planner.l2_layout import Layout, lay_out
from tilewright.planner.lifetimes import lifetimes, steps_of
from tilewright.planner.options import Limits, TilingOption
from tilewright.planner.overlap import AT_ONCE, timeline
from tilewright.planner.solve import Decision, Task, decide, l1_buffers
from tilewright.planner.spill import lacking, pressures
from tilewright.target.mapping import Mapped
from tilewright.target.settings import Settings

ARENAS = ("near", "far", "spare", "deep")
"""Levels in which tensors have offsets."""


@dataclass(frozen=True)
class Home:
    """Where a tensor lives."""

    level: str
    """near, far, spare, deep, input, output, constant, store or weights: deep are activations, store constants in the
    store."""
    owner: str
    offset: int = 0
    """Bytes from the start of the level's arena."""

    def __str__(self) -> str:
        return f"{self.level}+{self.offset}" if self.level in ARENAS else self.level


@dataclass(frozen=True)
class Step:
    """One layer as it will run."""

    option: TilingOption
    prefetch_distance: int
    """How many steps before its own its constants and parameters are fetched."""
    offsets: Mapping[str, int]
    """Where its buffers lie in the near arena: streamed operands by name, parameters and scratch."""
    staged: Mapping[str, int]
    """Constants of the store that it reads -> where they are put in the far arena."""
    l2_scratch: int | None = None
    """Where its working memory is in the far arena, if it is there."""
    predicted: int = 0
    """Cycles that it is said to take."""
    staged_ahead: int = 1
    """How many steps before its own its constants come from the store; 0 where the far memory has no room for both."""
    in_flight: int = 0
    """In how many of the steps after it an accelerator may still be at work for it."""
    l2_staging: Mapping[str, int] = field(default_factory=dict)
    """Operands and results that live in the store -> where their parts rest in the far arena on their way."""


@dataclass(frozen=True)
class Plan:
    mapped: Mapped
    settings: Settings
    budget: L1Budget
    steps: tuple[Step, ...]
    homes: Mapping[str, Home]
    predicted: int
    """Cycles of one run."""
    bound: int
    """No choice of ways and homes is predicted to be faster."""
    l1_problem: allocator.Problem
    l1: allocator.Solution
    l2_problem: allocator.Problem
    l2: allocator.Solution
    wmem_problem: allocator.Problem
    wmem: allocator.Solution
    """Activations that the far memory has no room for."""
    l3_problem: allocator.Problem
    l3: allocator.Solution
    """Those that live in the store, behind its constants."""
    estimates: Mapping[str, tuple[Estimate, ...]]
    """What each node would take on the engines that could compute it, by its key."""

    @property
    def gap(self) -> float:
        return (self.predicted - self.bound) / self.bound if self.bound else 0.0

    def fetched_during(self, number: int) -> list[int]:
        """The steps whose constants and parameters are fetched while a step is at work."""
        later = range(number + 1, len(self.steps))
        return [
            step
            for step in later
            if self.steps[step].prefetch_distance and step - self.steps[step].prefetch_distance == number
        ]

    def waited_before(self, number: int) -> list[int]:
        """The steps whose accelerator must have ended before a step begins."""
        before = range(max(number - AT_ONCE, 0), number)
        return [step for step in before if (in_flight := self.steps[step].in_flight) and step + in_flight + 1 == number]

    @property
    def l1_bytes(self) -> int:
        return self.budget.base + self.l1.peak

    def __str__(self) -> str:
        lines = [
            f"plan for {self.budget.cores} cores: {self.l1_bytes} of {self.budget.total} bytes near, far arena "
            f"{self.l2.peak} bytes, {self.predicted} cycles predicted, at least {self.bound}"
        ]
        return "\n".join([*lines, *(_line(self, number, step) for number, step in enumerate(self.steps))])


def plan(mapped: Mapped, settings: Settings) -> Plan:
    """The faster one of those with the stacks where the room has them and, where they just fit, with near ones. Stacks
    leave the near memory before a layer does without it."""
    budget = l1_budget(mapped, settings)
    try:
        made, other = _plan_in(budget, mapped, settings), with_stacks_in_l1(budget)
    except CompileError:
        if not budget.stacks_in_l1:
            raise
        return _plan_in(with_far_stacks(budget), mapped, settings)
    if other is None:
        return made
    try:
        return min(_plan_in(other, mapped, settings), made, key=lambda plan: plan.predicted)
    except CompileError:
        return made


def _plan_in(budget: L1Budget, mapped: Mapped, settings: Settings) -> Plan:
    """Ways and homes by one model, then offsets, which are checked. Where the far memory does not hold it, some of the
    activations move, and all is decided again."""
    task = _task(budget, mapped, settings)
    decision = decide(task)
    layout = _layout(task, decision)
    if layout.fits:
        return _placed(task, decision, layout)
    for pressure in pressures(task, decision, layout):
        relieved = _task(budget, mapped, settings, pressure)
        if error := lacking(task, relieved, decision, layout):
            raise error
        try:
            other = decide(relieved)
        except CompileError:
            continue
        laid_out = _layout(relieved, other)
        if laid_out.fits:
            return _placed(relieved, other, laid_out)
    return _placed(task, decision, layout)


def _task(budget: L1Budget, mapped: Mapped, settings: Settings, pressure: select.L2Pressure | None = None) -> Task:
    graph = mapped.graph
    inside = insides(graph)
    owners = all_owners(graph, inside)
    nodes = steps_of(graph)
    tensors = lifetimes(graph, nodes, owners)
    l3_constants = constants_in_l3(mapped, settings, tensors, owners)
    movable = frozenset(tensor.name for tensor in tensors if 0 < tensor.bytes <= budget.arena)
    spillable: frozenset[str] = frozenset().union(*pressure.spillable) if pressure else frozenset()
    groups = [layers_of(mapped, settings, budget, node, owners, movable, inside, spillable) for node in nodes]
    limits = _limits(budget, mapped, settings)
    found = layer_options(groups, limits)
    for one in found:
        if not one.options:
            raise no_option_fits(one.layer, budget, limits, tensors)
    return Task(mapped, settings, budget, owners, tensors, l3_constants, found, pressure)


def _layout(task: Task, decision: Decision) -> Layout:
    return lay_out(
        _resolved(task.mapped, decision.chosen), task.settings, task.tensors, decision.l1_tensors, decision.options,
        task.l3_constants, decision.spilled if task.pressure else None,
    )  # fmt: skip


def _limits(budget: L1Budget, mapped: Mapped, settings: Settings) -> Limits:
    costs = mapped.target.costs
    return Limits(
        budget.cores, budget.arena, settings.buffering, costs if budget.stacks_in_l1 else costs.with_far_stacks()
    )


def _placed(task: Task, decision: Decision, layout: Layout) -> Plan:
    mapped, chosen, l1, l2 = _resolved(task.mapped, decision.chosen), decision.chosen, decision.l1, layout.l2
    check_placement(decision.l1_problem, l1)
    layout.check(mapped, task.settings)
    predicted = timeline(
        decision.options, [candidate.alone for candidate in chosen], decision.in_flight, mapped.target.costs
    )
    saved = decision.cycles - sum(predicted)
    steps = tuple(
        Step(
            candidate.option, candidate.prefetch_distance,
            {name: l1.offsets[f"{number} {name}"] for name, _, _ in l1_buffers(candidate.option)},
            {name: l2.offsets[f"{number} {name}"] for name in layout.staged[number]},
            l2.offsets.get(f"{number} {SCRATCH}"),
            predicted[number], layout.ahead, decision.in_flight[number],
            {name: l2.offsets[f"{number} {staging_buffer(name)}"] for name in candidate.option.l2_staging_bytes},
        )
        for number, candidate in enumerate(chosen)
    )  # fmt: skip
    arenas = {"near": l1, "far": l2, "spare": layout.wmem, "deep": layout.l3}
    levels = dict.fromkeys(layout.l3_constants, "store") | dict.fromkeys(layout.resident, "weights")
    homes = {name: _home(mapped.graph, task.owners[name], arenas, levels) for name in mapped.graph.types}
    estimates = {one.layer.node.key: one.estimates for one in task.found}
    return Plan(
        mapped, task.settings, task.budget, steps, homes, sum(predicted), min(decision.bound, decision.cycles) - saved,
        decision.l1_problem, l1, layout.l2_problem, l2, layout.wmem_problem, layout.wmem, layout.l3_problem,
        layout.l3, estimates,
    )  # fmt: skip


def _resolved(mapped: Mapped, chosen: Sequence[Candidate]) -> Mapped:
    """With the nodes, engines and kernels that were chosen, and no constants but theirs."""
    options = {candidate.option.node.key: candidate.option for candidate in chosen}
    graph = mapped.graph
    nodes = tuple(options[node.key].node if node.key in options else node for node in graph.nodes)
    used = {name for node in nodes for name in node.inputs} | set(graph.outputs)
    unused = graph.constants.keys() - used
    types = {name: kind for name, kind in graph.types.items() if name not in unused}
    constants = {name: array for name, array in graph.constants.items() if name in used}
    taken = {
        key: next(c for c in (mapped.choices[key], *mapped.alternatives[key]) if c.kernel is option.kernel)
        for key, option in options.items()
    }
    return replace(mapped, graph=replace(graph, nodes=nodes, types=types, constants=constants), choices=taken)


def _home(graph: Graph, owner: str, arenas: Mapping[str, allocator.Solution], constants: Mapping[str, str]) -> Home:
    """`constants` are those that live elsewhere than in the far memory, and where."""
    role = home_of(graph, owner)
    if role != "arena":
        return Home(constants.get(owner, role), owner)
    name = f"tensor {owner}"
    return next((Home(level, owner, a.offsets[name]) for level, a in arenas.items() if name in a.offsets), NOWHERE)


NOWHERE = Home("far", "")
"""Of tensors that no layer uses."""


def _line(plan: Plan, number: int, step: Step) -> str:
    option = step.option
    cuts = " ".join(f"{cut.loop}={cut.size}/{cut.extent}" for cut in option.grid.cuts) or "whole"
    buffering = "double" if option.double else "single"
    return (
        f"  {number:>4} {option.kernel.stem:<26} {option.mode:<8} {buffering} {option.grid.tiles:>4} tiles {cuts:<16} "
        f"{option.bytes:>7} bytes {option.cycles:>9.0f} cycles -> {plan.homes[option.node.key]!s:<12} "
        f"{printable(option.node.name)}"
    )

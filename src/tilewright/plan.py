"""Tiling and memory of a network on a cluster, solved together: a way for every layer, a home for every tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright import choosing, memory
from tilewright.allocation import home_of
from tilewright.candidates import Choice, Estimate, candidates, layers_of
from tilewright.deciding import Decision, Task, decide, near_buffers
from tilewright.errors import CompileError, printable
from tilewright.ir import Graph, Node
from tilewright.layers import Limits, Way, fits, ways
from tilewright.layout import Layout, lay_out
from tilewright.mapping import Mapped
from tilewright.missing import no_way
from tilewright.overlap import AT_ONCE, spent
from tilewright.ownership import all_owners, insides, lifetimes, steps_of
from tilewright.relief import lacking, reliefs
from tilewright.rooms import Room, near_room, with_far_stacks, with_near_stacks
from tilewright.staging import SCRATCH, bounce, stored_constants
from tilewright.target import Settings, costs_of
from tilewright.validate import check_placement

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

    way: Way
    early: int
    """How many steps before its own its constants and parameters are fetched."""
    offsets: Mapping[str, int]
    """Where its buffers lie in the near arena: streamed operands by name, parameters and scratch."""
    staged: Mapping[str, int]
    """Constants of the store that it reads -> where they are put in the far arena."""
    far_scratch: int | None = None
    """Where its working memory is in the far arena, if it is there."""
    predicted: int = 0
    """Cycles that it is said to take."""
    staged_ahead: int = 1
    """How many steps before its own its constants come from the store; 0 where the far memory has no room for both."""
    lasts: int = 0
    """In how many of the steps after it an accelerator may still be at work for it."""
    bounced: Mapping[str, int] = field(default_factory=dict)
    """Operands and results that live in the store -> where their parts rest in the far arena on their way."""


@dataclass(frozen=True)
class Plan:
    mapped: Mapped
    settings: Settings
    room: Room
    steps: tuple[Step, ...]
    homes: Mapping[str, Home]
    predicted: int
    """Cycles of one run."""
    bound: int
    """No choice of ways and homes is predicted to be faster."""
    near_problem: memory.Problem
    near: memory.Solution
    far_problem: memory.Problem
    far: memory.Solution
    spare_problem: memory.Problem
    spare: memory.Solution
    """Activations that the far memory has no room for."""
    deep_problem: memory.Problem
    deep: memory.Solution
    """Those that live in the store, behind its constants."""
    estimates: Mapping[str, tuple[Estimate, ...]]
    """What each node would take on the engines that could compute it, by its key."""

    @property
    def gap(self) -> float:
        return (self.predicted - self.bound) / self.bound if self.bound else 0.0

    def fetched_during(self, number: int) -> list[int]:
        """The steps whose constants and parameters are fetched while a step is at work."""
        later = range(number + 1, len(self.steps))
        return [step for step in later if self.steps[step].early and step - self.steps[step].early == number]

    def taken_back_before(self, number: int) -> list[int]:
        """The steps whose accelerator must have ended before a step begins."""
        before = range(max(number - AT_ONCE, 0), number)
        return [step for step in before if (lasts := self.steps[step].lasts) and step + lasts + 1 == number]

    @property
    def near_bytes(self) -> int:
        return self.room.base + self.near.peak

    def __str__(self) -> str:
        lines = [
            f"plan for {self.room.cores} cores: {self.near_bytes} of {self.room.total} bytes near, far arena "
            f"{self.far.peak} bytes, {self.predicted} cycles predicted, at least {self.bound}"
        ]
        return "\n".join([*lines, *(_line(self, number, step) for number, step in enumerate(self.steps))])


def plan(mapped: Mapped, settings: Settings) -> Plan:
    """The faster one of those with the stacks where the room has them and, where they just fit, with near ones. Stacks
    leave the near memory before a layer does without it."""
    room = near_room(mapped, settings)
    try:
        made, other = _plan_in(room, mapped, settings), with_near_stacks(room)
    except CompileError:
        if not room.stacks_near:
            raise
        return _plan_in(with_far_stacks(room), mapped, settings)
    if other is None:
        return made
    try:
        return min(_plan_in(other, mapped, settings), made, key=lambda plan: plan.predicted)
    except CompileError:
        return made


def _plan_in(room: Room, mapped: Mapped, settings: Settings) -> Plan:
    """Ways and homes by one model, then offsets, which are checked. Where the far memory does not hold it, some of the
    activations move, and all is decided again."""
    task = _task(room, mapped, settings)
    decision = decide(task)
    layout = _layout(task, decision)
    if layout.fits:
        return _placed(task, decision, layout)
    for scarce in reliefs(task, decision, layout):
        relieved = _task(room, mapped, settings, scarce)
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


def _task(room: Room, mapped: Mapped, settings: Settings, scarce: choosing.Scarce | None = None) -> Task:
    graph = mapped.graph
    inside = insides(graph)
    owners = all_owners(graph, inside)
    nodes = steps_of(graph)
    tensors = lifetimes(graph, nodes, owners)
    stored = stored_constants(mapped, settings, tensors, owners)
    movable = frozenset(tensor.name for tensor in tensors if 0 < tensor.bytes <= room.arena)
    storable: frozenset[str] = frozenset().union(*scarce.storable) if scarce else frozenset()
    groups = [layers_of(mapped, settings, room, node, owners, movable, inside, storable) for node in nodes]
    limits = _limits(room, mapped, settings)
    found = candidates(groups, limits)
    for one in found:
        if not one.ways:
            raise no_way(one.layer, room, limits, tensors)
    return Task(mapped, settings, room, owners, tensors, stored, found, scarce)


def _layout(task: Task, decision: Decision) -> Layout:
    return lay_out(
        _resolved(task.mapped, decision.chosen), task.settings, task.tensors, decision.near_tensors, decision.ways,
        task.stored, decision.moved if task.scarce else None,
    )  # fmt: skip


def tight(mapped: Mapped, settings: Settings) -> list[Node]:
    """Layers of which no tile fits the near memory with the kernel that is preferred."""
    graph, room = mapped.graph, near_room(mapped, settings)
    inside = insides(graph)
    owners = all_owners(graph, inside)
    limits = _limits(room, mapped, settings)
    groups = ((n, layers_of(mapped, settings, room, n, owners, frozenset(), inside)) for n in steps_of(graph))
    return [node for node, group in groups if not fits(group[0], limits)]


def stuck(mapped: Mapped, settings: Settings) -> list[Node]:
    """Layers that cannot be run at all: no tile fits the near memory, and in the far one a Concat wants their results
    apart."""
    graph, room = mapped.graph, near_room(mapped, settings)
    inside = insides(graph)
    owners = all_owners(graph, inside)
    limits = _limits(room, mapped, settings)
    nodes = [node for node in steps_of(graph) if any(name in inside for name in node.outputs)]
    groups = ((n, layers_of(mapped, settings, room, n, owners, frozenset(), inside)) for n in nodes)
    return [node for node, group in groups if not any(ways(layer, limits) for layer in group)]


def _limits(room: Room, mapped: Mapped, settings: Settings) -> Limits:
    costs = costs_of(mapped.target, settings)
    return Limits(room.cores, room.arena, settings.buffering, costs if room.stacks_near else costs.with_far_stacks())


def _placed(task: Task, decision: Decision, layout: Layout) -> Plan:
    mapped, chosen, near, far = _resolved(task.mapped, decision.chosen), decision.chosen, decision.near, layout.far
    check_placement(decision.near_problem, near)
    layout.check(mapped, task.settings)
    costs = costs_of(mapped.target, task.settings)
    predicted = spent(decision.ways, [choice.alone for choice in chosen], decision.lasts, costs)
    saved = decision.cycles - sum(predicted)
    steps = tuple(
        Step(
            choice.way, choice.early,
            {name: near.offsets[f"{number} {name}"] for name, _, _ in near_buffers(choice.way)},
            {name: far.offsets[f"{number} {name}"] for name in layout.staged[number]},
            far.offsets.get(f"{number} {SCRATCH}"),
            predicted[number], layout.ahead, decision.lasts[number],
            {name: far.offsets[f"{number} {bounce(name)}"] for name in choice.way.bounces},
        )
        for number, choice in enumerate(chosen)
    )  # fmt: skip
    arenas = {"near": near, "far": far, "spare": layout.spare, "deep": layout.deep}
    levels = dict.fromkeys(layout.stored, "store") | dict.fromkeys(layout.resident, "weights")
    homes = {name: _home(mapped.graph, task.owners[name], arenas, levels) for name in mapped.graph.types}
    estimates = {one.layer.node.key: one.estimates for one in task.found}
    return Plan(
        mapped, task.settings, task.room, steps, homes, sum(predicted), min(decision.bound, decision.cycles) - saved,
        decision.near_problem, near, layout.far_problem, far, layout.spare_problem, layout.spare, layout.deep_problem,
        layout.deep, estimates,
    )  # fmt: skip


def _resolved(mapped: Mapped, chosen: Sequence[Choice]) -> Mapped:
    """With the nodes, engines and kernels that were chosen, and no constants but theirs."""
    ways = {choice.way.node.key: choice.way for choice in chosen}
    graph = mapped.graph
    nodes = tuple(ways[node.key].node if node.key in ways else node for node in graph.nodes)
    used = {name for node in nodes for name in node.inputs} | set(graph.outputs)
    unused = graph.constants.keys() - used
    types = {name: kind for name, kind in graph.types.items() if name not in unused}
    constants = {name: array for name, array in graph.constants.items() if name in used}
    taken = {
        key: next(c for c in (mapped.choices[key], *mapped.alternatives[key]) if c.kernel is way.kernel)
        for key, way in ways.items()
    }
    return replace(mapped, graph=replace(graph, nodes=nodes, types=types, constants=constants), choices=taken)


def _home(graph: Graph, owner: str, arenas: Mapping[str, memory.Solution], constants: Mapping[str, str]) -> Home:
    """`constants` are those that live elsewhere than in the far memory, and where."""
    role = home_of(graph, owner)
    if role != "arena":
        return Home(constants.get(owner, role), owner)
    name = f"tensor {owner}"
    return next((Home(level, owner, a.offsets[name]) for level, a in arenas.items() if name in a.offsets), NOWHERE)


NOWHERE = Home("far", "")
"""Of tensors that no layer uses."""


def _line(plan: Plan, number: int, step: Step) -> str:
    way = step.way
    cuts = " ".join(f"{cut.loop}={cut.size}/{cut.extent}" for cut in way.grid.cuts) or "whole"
    buffering = "double" if way.double else "single"
    return (
        f"  {number:>4} {way.kernel.stem:<26} {way.mode:<8} {buffering} {way.grid.tiles:>4} tiles {cuts:<16} "
        f"{way.bytes:>7} bytes {way.cycles:>9.0f} cycles -> {plan.homes[way.node.key]!s:<12} {printable(way.node.name)}"
    )

"""Tiling and memory of a network on a cluster, solved together: a way for every layer, a home for every tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright import choosing, memory
from tilewright.allocation import home_of
from tilewright.candidates import Candidates, Choice, Estimate, candidates, constant_bytes, layers_of, options_of
from tilewright.candidates import stored_owners as read_from_store
from tilewright.errors import CompileError, printable
from tilewright.ir import Graph, Node
from tilewright.layers import ALIGNMENT, Limits, Way, fits, ways
from tilewright.mapping import Mapped
from tilewright.missing import no_way, too_small
from tilewright.overlap import AT_ONCE, hidden_cycles, hideable, lasting, spent
from tilewright.ownership import all_owners, insides, lifetimes, steps_of
from tilewright.rooms import (
    Room,
    check_far,
    check_spare,
    far_room,
    io_bytes,
    near_room,
    rounded,
    weight_room,
    with_far_stacks,
    with_near_stacks,
)
from tilewright.staging import SCRATCH, far_peak, far_problem, moved_to_spare, staging, stored_constants
from tilewright.target import Settings
from tilewright.validate import check_placement

TRIES = 6
"""How often the choice is made again with less room before it is given up."""

ARENAS = ("near", "far", "spare")
"""Levels in which tensors have offsets."""

PARAMS = "(params)"
"""The name of a layer's parameters among its buffers."""


@dataclass(frozen=True)
class Home:
    """Where a tensor lives."""

    level: str
    """near, far, spare, input, output, constant, store or weights."""
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


@dataclass(frozen=True)
class _Task:
    """What is to be decided upon."""

    mapped: Mapped
    settings: Settings
    room: Room
    owners: Mapping[str, str]
    tensors: Sequence[choosing.Tensor]
    stored: frozenset[str]
    found: Sequence[Candidates]


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
    """Ways and homes by one model, then offsets, which are checked."""
    graph = mapped.graph
    inside = insides(graph)
    owners = all_owners(graph, inside)
    nodes = steps_of(graph)
    tensors = lifetimes(graph, nodes, owners)
    stored = stored_constants(mapped, settings, tensors, owners)
    movable = frozenset(tensor.name for tensor in tensors if 0 < tensor.bytes <= room.arena)
    groups = [layers_of(mapped, settings, room, node, owners, movable, inside) for node in nodes]
    limits = _limits(room, mapped, settings)
    found = candidates(groups, limits)
    for one in found:
        if not one.ways:
            raise no_way(one.layer, room, limits, tensors)
    return _solve(_Task(mapped, settings, room, owners, tensors, stored, found))


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
    costs = mapped.target.costs
    return Limits(room.cores, room.arena, settings.buffering, costs if room.stacks_near else costs.with_far_stacks())


def _solve(task: _Task) -> Plan:
    room = task.room
    meanwhile = hideable([one.ways for one in task.found], task.owners)
    placed = frozenset(tensor.name for tensor in task.tensors)
    options = [options_of(task.found, i, task.stored, placed, meanwhile) for i in range(len(task.found))]
    capacity, bound = room.arena, 0
    movable = [one.layer.movable for one in task.found]
    free_constants, free_weights = _constant_rooms(task)
    for _ in range(TRIES):
        problem = choosing.Problem(
            tuple(tuple(choice.option for choice in group) for group in options),
            tuple(movable),
            tuple(tensor for tensor in task.tensors if any(tensor.name in names for names in movable)),
            capacity,
            free_constants,
            free_weights,
        )
        solution = choosing.choose(problem, task.settings.time_limit)
        if solution is None:
            raise too_small(options, task.tensors, room)
        bound = bound or solution.bound
        chosen = [group[i] for group, i in zip(options, solution.options, strict=True)]
        alone = [0] * len(chosen)
        near_problem = _near_problem(task, chosen, solution.near, alone)
        near = memory.solve(near_problem, 1.0)
        if near.peak <= room.arena:
            return _placed(
                task, chosen, solution, bound, *_overlapping(task, chosen, solution.near, near_problem, near)
            )
        capacity -= near.peak - room.arena
    raise CompileError(
        "near memory", f"no placement of its buffers in {room.arena} bytes was found", "give it more with --l1"
    )


def _constant_rooms(task: _Task) -> tuple[int, int]:
    """Bytes for constants in the far and in the weight memory; never less than the preferred kernels need."""
    graph, peak = task.mapped.graph, far_peak(task.tensors)
    free = far_room(task.mapped, task.settings) - io_bytes(graph)
    plain = [next((way for way in one.ways if not way.weights), one.ways[0]) for one in task.found]
    preferred = [constant_bytes(way, task.stored, frozenset(task.owners.values())) for way in plain]
    far, kept = (sum(sizes) for sizes in zip(*preferred, strict=True)) if preferred else (0, 0)
    return max(free - peak, far), max(weight_room(task.mapped) - max(peak - free, 0), kept)


def _overlapping(
    task: _Task, chosen: Sequence[Choice], near: frozenset[str], problem: memory.Problem, solution: memory.Solution
) -> tuple[list[int], memory.Problem, memory.Solution]:
    """How long accelerators may last, and a placement that allows it; less of it where there is no room."""
    ways = [choice.way for choice in chosen]
    begun = [step - choice.early * (choice.way.mode == "moved") for step, choice in enumerate(chosen)]
    lasts = lasting(ways, task.owners, begun)
    costs = task.mapped.target.costs
    gains = [hidden_cycles(ways, step, count, costs) for step, count in enumerate(lasts)]
    while worth := sorted(gain for gain in gains if gain > 0):
        kept = [count if gain > 0 else 0 for count, gain in zip(lasts, gains, strict=True)]
        longer = _near_problem(task, chosen, near, kept)
        placed = memory.solve(longer, 0)
        if placed.peak <= task.room.arena:
            return kept, longer, placed
        least = worth[len(worth) // 2]
        gains = [gain if gain > least else 0.0 for gain in gains]
    return [0] * len(chosen), problem, solution


def _near_problem(task: _Task, chosen: Sequence[Choice], near: frozenset[str], lasts: Sequence[int]) -> memory.Problem:
    """What the near memory holds from step to step; an accelerator that lasts needs its tensors and buffers longer."""
    needed: dict[str, int] = {}
    for step, (choice, count) in enumerate(zip(chosen, lasts, strict=True)):
        needed |= {owner: max(needed.get(owner, 0), step + count) for owner in choice.way.owners.values()}
    begun: dict[str, int] = {}
    for step, choice in enumerate(chosen):
        if choice.way.mode == "moved":
            owner = choice.way.owners[choice.way.grid.results[0]]
            begun[owner] = min(begun.get(owner, step), step - choice.early)
    buffers = [
        memory.Buffer(
            f"tensor {tensor.name}",
            tensor.bytes,
            min(tensor.first, begun.get(tensor.name, tensor.first)),
            max(tensor.last, needed[tensor.name]),
        )
        for tensor in task.tensors
        if tensor.name in near
    ]
    for step, (choice, count) in enumerate(zip(chosen, lasts, strict=True)):
        for name, size, is_early in _buffers(choice.way):
            first = max(step - choice.early, 0) if is_early else step
            buffers.append(memory.Buffer(f"{step} {name}", size, first, step + count))
    return memory.Problem(tuple(buffers), ALIGNMENT)


def _buffers(way: Way) -> list[tuple[str, int, bool]]:
    """Name, bytes and whether it may be filled early, of every buffer of a layer."""
    found = [(o.name, rounded(o.bytes) * o.buffers, o.is_ready) for o in way.operands if o.streamed]
    scratch = 0 if way.mode == "direct" else rounded(way.scratch)
    found += [(PARAMS, rounded(way.params), True), (SCRATCH, scratch, False)]
    return [(name, size, early) for name, size, early in found if size]


def _placed(
    task: _Task, chosen: Sequence[Choice], solution: choosing.Solution, bound: int, lasts: Sequence[int],
    near_problem: memory.Problem, near: memory.Solution,
) -> Plan:  # fmt: skip
    mapped, tensors = _resolved(task.mapped, chosen), task.tensors
    graph, found = mapped.graph, [choice.way for choice in chosen]
    resident = frozenset(way.owners[name] for way in found for name in way.kernel.resident)
    staged = {step: read_from_store(way, task.stored) for step, way in enumerate(found)}
    stored = frozenset(name for names in staged.values() for name in names)
    constants = sum(rounded(graph.types[name].bytes, 16) for name in graph.constants if name not in resident | stored)
    free = far_room(mapped, task.settings) - constants - io_bytes(graph)
    for ahead in (1, 0):
        held = staging(graph, found, staged, ahead)
        moved = moved_to_spare(tensors, solution.near, held, free)
        problem = far_problem(tensors, solution.near | moved, held)
        if memory.solve(problem, 0).peak <= free:
            break
    spare_problem = far_problem([tensor for tensor in tensors if tensor.name in moved], frozenset(), {})
    far, spare = memory.solve(problem, 1.0), memory.solve(spare_problem, 1.0)
    for posed, solved in ((near_problem, near), (problem, far), (spare_problem, spare)):
        check_placement(posed, solved)
    check_far(mapped, task.settings, far, constants)
    check_spare(mapped, spare, stored, resident)
    predicted = spent(found, [choice.alone for choice in chosen], lasts, mapped.target.costs)
    saved = solution.cycles - sum(predicted)
    steps = tuple(
        Step(
            choice.way, choice.early,
            {name: near.offsets[f"{number} {name}"] for name, _, _ in _buffers(choice.way)},
            {name: far.offsets[f"{number} {name}"] for name in staged[number]},
            far.offsets.get(f"{number} {SCRATCH}"),
            predicted[number], ahead, lasts[number],
        )
        for number, choice in enumerate(chosen)
    )  # fmt: skip
    arenas = {"near": near, "far": far, "spare": spare}
    levels = dict.fromkeys(stored, "store") | dict.fromkeys(resident, "weights")
    homes = {name: _home(graph, task.owners[name], arenas, levels) for name in graph.types}
    estimates = {one.layer.node.key: one.estimates for one in task.found}
    return Plan(
        mapped, task.settings, task.room, steps, homes, sum(predicted), min(bound, solution.cycles) - saved,
        near_problem, near, problem, far, spare_problem, spare, estimates,
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

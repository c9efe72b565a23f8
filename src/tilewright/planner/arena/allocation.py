"""Where every tensor lives: which tensors share bytes, how long each is needed, and offsets in one static arena."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import accumulate, islice

from tilewright.ir.graph import Graph, Node
from tilewright.memory.allocator import Buffer, Key, Problem, Solution, shown
from tilewright.memory.arena import side_by_side, solved_behind
from tilewright.memory.parts import check_parts, solve_in_parts
from tilewright.memory.validate import check_placement
from tilewright.passes.aliasing import (
    Owners,
    _last_uses,
    home_of,
    in_place_owners,
    view_owners,
)
from tilewright.planner.arena.board_regions import arena_capacities, with_fitting_ram
from tilewright.planner.arena.cycles import layer_cycles, machine_bound
from tilewright.planner.arena.pieces import Pieces, pieces
from tilewright.planner.arena.thread_lines import Span, with_own_lines
from tilewright.planner.arena.threads import cut_for_threads, parts_of_threads, spans_of
from tilewright.planner.cluster.tile_params import most_scratch
from tilewright.planner.home import ARENA, STATE, Home
from tilewright.planner.machine_bound import MachineBound
from tilewright.planner.stacks import CALLERS, Stacks
from tilewright.records import dataclass
from tilewright.target.mapping import Estimate, Mapped
from tilewright.target.memory import STACK, holding
from tilewright.target.sizes import most_scratch_at
from tilewright.target.target import Engine
from tilewright.tiling.tiles import TileGrid

INPUTS_TIME = 1.0
"""Seconds of work, about, for a plan that has room for inputs."""


@dataclass(frozen=True)
class ArenaPart:
    """What of the arena lies in one memory. Offsets in the arena count parts as one behind the other."""

    memory: str
    start: int
    bytes: int

    @property
    def end(self) -> int:
        return self.start + self.bytes


@dataclass(frozen=True)
class Allocation:
    mapped: Mapped
    homes: Mapping[str, Home]
    scratch: Mapping[str, int]
    """Node key -> offset of its working memory in the arena, whose parts are counted as one behind the other."""
    problem: Problem
    solution: Solution
    state_bytes: int = 0
    """At the start of the arena; what lies there is kept between calls."""
    parts: tuple[ArenaPart, ...] = ()
    """Of the arena, in the memories of a board that have some of it."""
    inputs: Mapping[str, int] = field(default_factory=dict)
    """Of a board: offsets in the arena at which inputs may lie, as nothing else is there before they are read."""
    split: Mapping[str, TileGrid] = field(default_factory=dict)
    """Node key -> the parts of a layer that several threads compute."""
    idle: frozenset[str] = frozenset()
    """Keys of nodes that have nothing to do, as their results are where they should be."""
    pinned: Mapping[str, str] = field(default_factory=dict)
    """Names of nodes -> the engines that are asked for."""

    @property
    def arena_bytes(self) -> int:
        return self.solution.peak

    @cached_property
    def layers(self) -> dict[str, TileGrid]:
        """Keys of nodes that are computed -> whole, or the parts that threads compute, in order."""
        graph = self.mapped.graph
        nodes = [node for node in graph.nodes if not node.op.view and node.key not in self.idle]
        whole = {node.key: TileGrid.of(node.op, graph.all_types(node), tuple(node.results())) for node in nodes}
        return {key: self.split.get(key, grid) for key, grid in whole.items()}

    @property
    def cores(self) -> int:
        return self.mapped.target.agents.threads

    @property
    def stacks(self) -> Stacks:
        return CALLERS

    @cached_property
    def layer_cycles(self) -> dict[str, int]:
        return layer_cycles(self.mapped, self.layers)

    @property
    def predicted(self) -> int:
        return sum(self.layer_cycles.values())

    @property
    def gap(self) -> float:
        return 0.0

    @property
    def least(self) -> MachineBound:
        return machine_bound(self.mapped, (self.mapped.graph.producers[key] for key in self.layers))

    @property
    def estimates(self) -> Mapping[str, tuple[Estimate, ...]]:
        return self.mapped.estimates

    @property
    def weighs_engines(self) -> bool:
        return self.mapped.is_weighed

    @property
    def tile_memory(self) -> str:
        return ""

    @property
    def tile_bytes(self) -> int:
        return 0

    @property
    def memory_bytes(self) -> dict[str, int]:
        return {}

    @property
    def tile_room(self) -> int:
        return 0

    @property
    def code_in_tile_memory(self) -> bool:
        return False

    def __str__(self) -> str:
        lines = [f"arena {self.solution.peak} bytes, lower bound {self.solution.lower_bound}, {self.solution.method}"]
        for buffer in sorted(self.problem.buffers, key=lambda b: (b.first, shown(b.name))):
            start = self.solution.offsets[buffer.name]
            live = f"live {buffer.first}..{buffer.last}"
            lines.append(f"  {start:>8} .. {start + buffer.bytes:<8} {live:<14} {shown(buffer.name)}")
        if self.state_bytes:
            lines.append(f"  the first {self.state_bytes} bytes are state, which is kept between calls")
        return "\n".join(lines)


def allocate(mapped: Mapped) -> Allocation:
    """Aliases, then lifetimes, then offsets."""
    graph, memory = mapped.graph, mapped.target.memories[0]
    sharing = _sharing(mapped)
    owners = sharing.owners
    states, problem = state_buffers(graph), arena_problem(mapped)
    kept = side_by_side(states, memory.alignment)
    solution = solved_behind(kept, replace(problem, buffers=problem.buffers[len(states) :]))
    split = cut_for_threads(mapped, owners)
    if split:
        solution = with_own_lines(problem, solution, _shares(mapped, sharing, split), len(states))
    check_placement(problem, solution)
    plan = _with_inputs(mapped, owners, Placement(problem, solution), kept)
    target = with_fitting_ram(mapped.target, graph, plan.solution.peak, plan.inputs)
    capacities = arena_capacities(target, graph, plan.inputs)
    parts: tuple[ArenaPart, ...] = (ArenaPart(target.memories[0].name, 0, plan.solution.peak),)
    if capacities and plan.solution.peak > capacities[parts[0].memory]:
        plan, parts = _in_several(arena_capacities(target, graph), problem, states, solution) or (plan, parts)
    inputs = {name: plan.solution.offsets[(name,)] for name in plan.inputs}
    homes = {name: _home(graph, sharing, name, parts, plan) for name in graph.types}
    scratch = {node.key: plan.solution.offsets[_scratch_key(node)] for node, _ in _scratch_sizes(mapped)}
    placed = replace(mapped, target=target)
    return Allocation(
        placed, homes, scratch, plan.problem, plan.solution, kept.peak, parts, inputs, split, sharing.idle
    )


@dataclass(frozen=True)
class Placement:
    """What lies in the arena, and where."""

    problem: Problem
    solution: Solution
    inputs: tuple[str, ...] = ()
    """Among it."""


def _with_inputs(mapped: Mapped, owners: Owners, plain: Placement, kept: Solution) -> Placement:
    """Where the memory of the stack has inputs too: with these inside the arena, if it has room for them until they are
    read for the last time. An accelerator may still read them while the core goes on, unless it has a copy."""
    states, more = len(mapped.graph.states), input_buffers(mapped.graph, owners)
    kernels = [choice.kernel for choice in mapped.choices.values()]
    offloaded = any(kernel.offloaded and not kernel.copies_operands for kernel in kernels)
    if not holding(mapped.target.memories, STACK) or offloaded or not more:
        return plain
    wanted = replace(plain.problem, buffers=(*plain.problem.buffers, *more))
    found = solved_behind(kept, replace(wanted, buffers=wanted.buffers[states:]), INPUTS_TIME)
    if found.peak > plain.solution.peak:
        return plain
    check_placement(wanted, found)
    return Placement(wanted, found, tuple(buffer.name[0] for buffer in more))


def input_buffers(graph: Graph, owners: Owners) -> list[Buffer]:
    """Inputs, until they are read for the last time."""
    last = _last_uses(graph, owners)
    kinds = {name: graph.types[name] for name in graph.inputs if name in last}
    return [Buffer((name,), kind.bytes, 0, last[name]) for name, kind in kinds.items() if kind.bytes]


def _in_several(
    capacities: Mapping[str, int], problem: Problem, states: Sequence[Buffer], whole: Solution
) -> tuple[Placement, tuple[ArenaPart, ...]] | None:
    """Where none of a board's memories holds the arena: in several that do together, without inputs."""
    found = solve_in_parts(problem, states, tuple(capacities.values())) if len(capacities) > 1 else None
    if found is None:
        return None
    check_parts(problem, found, tuple(capacities.values()))
    starts = [0, *accumulate(found.sizes)]
    parts = [ArenaPart(*of) for of in zip(capacities, starts, found.sizes, strict=False)]
    solution = replace(found.solution, lower_bound=whole.lower_bound)
    return Placement(problem, solution), (parts[0], *(part for part in parts[1:] if part.bytes))


def arena_problem(mapped: Mapped) -> Problem:
    """Everything that lies in the arena, states first."""
    graph, memory = mapped.graph, mapped.target.memories[0]
    owners = _sharing(mapped).owners
    tensors = _while_copied(mapped, owners, tensor_buffers(graph, owners))
    buffers = (*state_buffers(graph), *tensors, *_scratch_buffers(mapped))
    # What a memory holds besides is counted with the schedule.
    return Problem(buffers, memory.alignment, None if memory.holds else memory.bytes)


def _sharing(mapped: Mapped) -> Pieces:
    """Which tensors share bytes, as the operators and the chosen kernels allow. On a computer also those that lie
    inside others: nothing is copied for layers that are computed depth-first."""
    graph = mapped.graph
    computed = [(node, mapped.choice(node).kernel) for node in graph.nodes if not node.op.view]
    allowed = {node.key: kernel.in_place(node.op, graph.all_types(node)) for node, kernel in computed}
    views = view_owners(graph)
    found = pieces(graph, views) if mapped.target.work_memory.caches is not None else Pieces(views)
    moved = in_place_owners(graph, dict(found.owners), found.made_inside, allowed, found.around)
    return replace(found, owners=moved)


def state_buffers(graph: Graph) -> list[Buffer]:
    """What is needed from the first step to behind the last one."""
    return [Buffer((s.before,), graph.types[s.before].bytes, 0, len(graph.nodes)) for s in graph.states]


def tensor_buffers(graph: Graph, owners: Owners) -> list[Buffer]:
    last = _last_uses(graph, owners)
    first: dict[str, int] = {}
    for step, node in enumerate(graph.nodes):
        for name in filter(None, node.outputs):
            first.setdefault(owners[name], step)
    return [
        Buffer((owner,), int(graph.types[owner].bytes), step, last[owner])
        for owner, step in first.items()
        if home_of(graph, owner) == "arena"
    ]


def _while_copied(mapped: Mapped, owners: Owners, buffers: Sequence[Buffer]) -> list[Buffer]:
    """Where several jobs may be under way, what one reads stays until its result is needed: nobody has to wait before
    that to use the bytes again."""
    steps = {node.key: step for step, node in enumerate(mapped.graph.nodes)}
    until: dict[str, int] = {}
    for node in mapped.graph.nodes:
        if not node.op.view and mapped.choice(node).kernel.has_several:
            readers = [steps[reader.key] for name in node.outputs for reader in mapped.graph.consumers.get(name, ())]
            for name in node.inputs:
                until[owners[name]] = max(until.get(owners[name], 0), min(readers, default=len(mapped.graph.nodes)))
    return [replace(one, last=max(one.last, until.get(one.name[0], 0))) for one in buffers]


def _scratch_sizes(mapped: Mapped) -> list[tuple[Node, int]]:
    """Of layers with working memory; every thread that computes parts has its own."""
    sharing, memory, threads = _sharing(mapped), mapped.target.memories[0], mapped.target.agents.threads
    split = cut_for_threads(mapped, sharing.owners)
    sizes = []
    for node in mapped.graph.nodes:
        if not node.op.view and node.key not in sharing.idle:
            kernel = mapped.choice(node).kernel
            if node.key in split:
                size = memory.whole(most_scratch(kernel, split[node.key])) * min(split[node.key].tiles, threads)
            else:
                size = scratch_of_all(mapped, node)
            sizes.append((node, size))
    return [(node, size) for node, size in sizes if size]


def scratch_of_all(mapped: Mapped, node: Node) -> int:
    """Bytes of working memory of a layer in one piece; of a kernel that all threads call, for each of them."""
    kernel, threads = mapped.choice(node).kernel, mapped.target.agents.threads
    size = most_scratch_at(mapped.graph, kernel, node)
    return mapped.target.memories[0].whole(size) * threads if kernel.cooperative and threads > 1 else size


def _shares(mapped: Mapped, sharing: Pieces, split: Mapping[str, TileGrid]) -> dict[Key, list[Span]]:
    """What each thread has of a buffer: of tensors as they are made, of working memory its own."""
    threads = mapped.target.agents.threads
    made: dict[Key, list[Span]] = {
        _scratch_key(node): [(size // used * thread, size // used * (thread + 1)) for thread in range(used)]
        for node, size in _scratch_sizes(mapped)
        if (used := min(split[node.key].tiles, threads) if node.key in split else 0)
    }
    for node in mapped.graph.nodes:
        if node.key in split:
            for stem, name in node.results().items():
                spans = spans_of(split[node.key], stem, sharing.starts.get(name, 0))
                own = parts_of_threads(len(spans), threads)
                made[(sharing.owners[name],)] = [(spans[parts[0]][0], spans[parts[-1]][1]) for parts in own]
    return made


def _scratch_buffers(mapped: Mapped) -> list[Buffer]:
    steps = {node.key: step for step, node in enumerate(mapped.graph.nodes)}
    return [
        Buffer(_scratch_key(node), size, steps[node.key], _in_use_until(mapped, node, steps))
        for node, size in _scratch_sizes(mapped)
    ]


def _in_use_until(mapped: Mapped, node: Node, steps: Mapping[str, int]) -> int:
    """The last step that a layer's working memory is needed in: an accelerator's until somebody reads its result, so
    that what does not need it may go on, or until the accelerator gets its next job."""
    step, choice = steps[node.key], mapped.choice(node)
    if not choice.kernel.offloaded:
        return step
    readers = [steps[reader.key] for name in node.outputs for reader in mapped.graph.consumers.get(name, ())]
    ends = readers if choice.kernel.has_several else [*readers, *_next_job(mapped, step)]
    return max(step, min(ends, default=step + 1) - 1)


def _next_job(mapped: Mapped, step: int) -> Iterator[int]:
    """The first step behind one that gives the same accelerator a job, if there is one."""
    engine = mapped.choice(mapped.graph.nodes[step]).engine
    later = range(step + 1, len(mapped.graph.nodes))
    return islice((at for at in later if _is_job_of(mapped, mapped.graph.nodes[at], engine)), 1)


def _is_job_of(mapped: Mapped, node: Node, engine: Engine) -> bool:
    choice = mapped.choices.get(node.key)
    return choice is not None and choice.engine is engine and choice.kernel.offloaded


def _scratch_key(node: Node) -> tuple[str, str]:
    return node.key, "(scratch)"


def _home(graph: Graph, sharing: Pieces, name: str, parts: Sequence[ArenaPart], plan: Placement) -> Home:
    owner = sharing.owners[name]
    home = home_of(graph, owner)
    if home not in (ARENA, STATE) and owner not in plan.inputs:
        return Home(home, owner)
    offset = plan.solution.offsets.get((owner,), 0) + sharing.starts.get(name, 0)
    part = part_with(parts, offset)
    return Home(ARENA, owner, part.memory, offset - part.start)


def part_with(parts: Sequence[ArenaPart], offset: int) -> ArenaPart:
    """The part of the arena that an offset lies in."""
    return next((part for part in parts if offset < part.end), parts[-1])

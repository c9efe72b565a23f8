"""A tiling option for each layer and the tensors that stay in L1, over the whole network, and offsets in L1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.errors import CompileError
from tilewright.memory import allocator
from tilewright.memory.adjacent import Pair, side_by_side
from tilewright.memory.arena import Arena, solved
from tilewright.planner.cluster import select
from tilewright.planner.cluster.candidates import Candidate, LayerOptions, candidates_of, constant_bytes, costs_of
from tilewright.planner.cluster.capacity import (
    TileBudget,
    constants_capacity,
    home_capacity,
    io_bytes,
    option_for,
)
from tilewright.planner.cluster.elsewhere import Elsewhere
from tilewright.planner.cluster.home_buffers import home_peak
from tilewright.planner.cluster.overlap import hidden_cycles, hideable, in_flight_steps
from tilewright.planner.cluster.tile_shortage import too_small
from tilewright.planner.cluster.tiling_option import Operand, RuntimeSlots, TilingOption
from tilewright.planner.keys import PARAMS, SCRATCH, buffer_key, tensor_key
from tilewright.records import dataclass
from tilewright.target.mapping import Mapped
from tilewright.target.settings import Settings

TRIES = 6
"""How often the choice is made again with a smaller L1 before it is given up."""

OVERLAP_TIME = 0.1
"""Seconds of work, about, for a placement that lets accelerators stay at work for longer."""


@dataclass(frozen=True)
class Task:
    """What is to be decided upon."""

    mapped: Mapped
    settings: Settings
    budget: TileBudget
    owners: Mapping[str, str]
    tensors: Sequence[select.Tensor]
    elsewhere: Elsewhere
    found: Sequence[LayerOptions]
    pressure: select.HomePressure | None = None
    """Once it is known that L2 does not hold all that is not in L1."""

    @property
    def slots(self) -> RuntimeSlots:
        agents, memories = self.mapped.target.agents, self.mapped.target.paths
        staged = {path.memory.name: sum(link.read for link in path.staging) for path in memories.staged}
        return RuntimeSlots(agents.prefetch_slots - 1, agents.offload_slots, memories.tile_link, staged)


@dataclass(frozen=True)
class Decision:
    """An option for every layer, and what is in L1, with offsets."""

    chosen: tuple[Candidate, ...]
    tile_tensors: frozenset[str]
    spilled: select.Spilled
    cycles: int
    bound: int
    in_flight: tuple[int, ...]
    """In how many of the steps after each an accelerator may still be at work for it."""
    tiles_arena: Arena

    @property
    def options(self) -> list[TilingOption]:
        return [candidate.option for candidate in self.chosen]


def decide(task: Task) -> Decision:
    budget = task.budget
    meanwhile = hideable([one.options for one in task.found], task.owners, task.slots)
    placed = frozenset(tensor.name for tensor in task.tensors)
    groups = [
        candidates_of(task.found, i, task.elsewhere, placed, meanwhile, task.slots) for i in range(len(task.found))
    ]
    capacity, bound = budget.arena, 0
    movable = [one.layer.movable for one in task.found]
    free_constants, free_weights = _constant_budgets(task)
    for _ in range(TRIES):
        problem = select.Problem(
            tuple(tuple(candidate.alternative for candidate in group) for group in groups),
            tuple(movable),
            tuple(t for t in task.tensors if task.pressure or any(t.name in names for names in movable)),
            capacity,
            free_constants,
            free_weights,
            task.pressure,
        )
        solution = select.choose(problem, task.settings.time_limit)
        if solution is None:
            raise too_small(groups, task.tensors, budget)
        bound = bound or solution.bound
        chosen = [group[i] for group, i in zip(groups, solution.alternatives, strict=True)]
        alone = [0] * len(chosen)
        found = solved(_tile_problem(task, chosen, solution.inside, alone), 1.0)
        if found.peak <= budget.arena:
            in_flight, found = _overlapping(task, chosen, solution.inside, found)
            found = side_by_side(found, _adjacent(chosen), budget.arena)
            return Decision(
                tuple(chosen), solution.inside, solution.spilled, solution.cycles, bound, tuple(in_flight), found
            )
        capacity -= found.peak - budget.arena
    raise CompileError(
        task.mapped.target.paths.tiles.name,
        f"no placement of its buffers in {budget.arena} bytes was found",
        f"give it more, for example {option_for(budget.memory, budget.total + budget.total // 8)}",
    )


def _adjacent(chosen: Sequence[Candidate]) -> Iterator[Pair]:
    """Tensors in L1, or buffers of which a layer has one each, that kernels like to have side by side."""
    for step, candidate in enumerate(chosen):
        option = candidate.option
        wanted = option.kernel.prefer_adjacent or ()
        found = [operand for name in wanted for operand in option.operands if operand.name == name]
        if found and all(
            operand.buffers == 1 if operand.streamed else option.owners[operand.name] in option.inside
            for operand in found
        ):
            first, second = (_key(option, step, operand) for operand in found)
            yield first, second


def _key(option: TilingOption, step: int, operand: Operand) -> allocator.Key:
    return buffer_key(step, operand.name) if operand.streamed else tensor_key(option.owners[operand.name])


def _constant_budgets(task: Task) -> tuple[int, int]:
    """Bytes for constants in L2 and in the weight memory; never less than the preferred kernels need."""
    graph, tensors = task.mapped.graph, task.mapped.target.paths.home
    peak = home_peak(task.tensors, tensors)
    free = home_capacity(task.mapped, task.settings) - io_bytes(graph, task.mapped.target.paths)
    plain = [next((option for option in one.options if not option.weights), one.options[0]) for one in task.found]
    preferred = [constant_bytes(option, task.elsewhere.all, frozenset(task.owners.values())) for option in plain]
    home, kept = (sum(sizes) for sizes in zip(*preferred, strict=True)) if preferred else (0, 0)
    return max(free - peak, home), max(constants_capacity(task.mapped, task.settings) - max(peak - free, 0), kept)


def _overlapping(
    task: Task, chosen: Sequence[Candidate], inside: frozenset[str], arena: Arena
) -> tuple[list[int], Arena]:
    """How long accelerators may stay at work, and a placement that allows it; for shorter where L1 is full."""
    options = [candidate.option for candidate in chosen]
    begun = [
        step - candidate.prefetch_distance * (candidate.option.mode == "dma_copy")
        for step, candidate in enumerate(chosen)
    ]
    in_flight = in_flight_steps(options, task.owners, begun, task.slots)
    costs = costs_of(task.mapped.target, task.settings)
    gains = [hidden_cycles(options, step, count, costs) for step, count in enumerate(in_flight)]
    while worth := sorted(gain for gain in gains if gain > 0):
        kept = [count if gain > 0 else 0 for count, gain in zip(in_flight, gains, strict=True)]
        problem = _tile_problem(task, chosen, inside, kept)
        longer = solved(problem, 0)
        if longer.peak > task.budget.arena >= longer.solution.lower_bound:
            longer = solved(problem, OVERLAP_TIME)
        if longer.peak <= task.budget.arena:
            return kept, longer
        least = worth[len(worth) // 2]
        gains = [gain if gain > least else 0.0 for gain in gains]
    return [0] * len(chosen), arena


def _tile_problem(
    task: Task, chosen: Sequence[Candidate], inside: frozenset[str], in_flight: Sequence[int]
) -> allocator.Problem:
    """What L1 holds from step to step; a job that an accelerator has in flight needs its tensors and buffers longer."""
    needed: dict[str, int] = {}
    for step, (candidate, count) in enumerate(zip(chosen, in_flight, strict=True)):
        needed |= {owner: max(needed.get(owner, 0), step + count) for owner in candidate.option.owners.values()}
    begun: dict[str, int] = {}
    for step, candidate in enumerate(chosen):
        if candidate.option.mode == "dma_copy":
            owner = candidate.option.owners[candidate.option.grid.results[0]]
            begun[owner] = min(begun.get(owner, step), step - candidate.prefetch_distance)
    buffers = [
        allocator.Buffer(
            tensor_key(tensor.name),
            tensor.bytes,
            min(tensor.first, begun.get(tensor.name, tensor.first)),
            max(tensor.last, needed[tensor.name]),
        )
        for tensor in task.tensors
        if tensor.name in inside
    ]
    for step, (candidate, count) in enumerate(zip(chosen, in_flight, strict=True)):
        for name, size, is_prefetched in tile_buffers(candidate.option):
            first = max(step - candidate.prefetch_distance, 0) if is_prefetched else step
            buffers.append(allocator.Buffer(buffer_key(step, name), size, first, step + count))
    return allocator.Problem(tuple(buffers), task.mapped.target.paths.tiles.placement)


def tile_buffers(option: TilingOption) -> list[tuple[str, int, bool]]:
    """Name, bytes and whether it may be prefetched, of every buffer of a layer."""
    tiles = option.memories.tiles
    found = [(o.name, tiles.whole(o.bytes) * o.buffers, o.is_ready) for o in option.operands if o.streamed]
    scratch = 0 if option.mode == "in_place" else tiles.whole(option.scratch)
    found += [(PARAMS, tiles.whole(option.params), True), (SCRATCH, scratch, False)]
    return [(name, size, is_prefetched) for name, size, is_prefetched in found if size]

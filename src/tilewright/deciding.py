"""A way for each layer and the tensors that stay near, over the whole network, and offsets in the near memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright import choosing, memory
from tilewright.candidates import Candidates, Choice, constant_bytes, options_of
from tilewright.errors import CompileError
from tilewright.layers import ALIGNMENT, Way
from tilewright.mapping import Mapped
from tilewright.missing import too_small
from tilewright.overlap import hidden_cycles, hideable, lasting
from tilewright.rooms import Room, far_room, io_bytes, rounded, weight_room
from tilewright.staging import PARAMS, SCRATCH, far_peak
from tilewright.target import Settings, costs_of

TRIES = 6
"""How often the choice is made again with less room before it is given up."""


@dataclass(frozen=True)
class Task:
    """What is to be decided upon."""

    mapped: Mapped
    settings: Settings
    room: Room
    owners: Mapping[str, str]
    tensors: Sequence[choosing.Tensor]
    stored: frozenset[str]
    found: Sequence[Candidates]
    scarce: choosing.Scarce | None = None
    """Once it is known that the far memory does not hold all that is not near."""


@dataclass(frozen=True)
class Decision:
    """A way for every layer, and what is near, with offsets."""

    chosen: tuple[Choice, ...]
    near_tensors: frozenset[str]
    moved: choosing.Moved
    cycles: int
    bound: int
    lasts: tuple[int, ...]
    """In how many of the steps after each an accelerator may still be at work for it."""
    near_problem: memory.Problem
    near: memory.Solution

    @property
    def ways(self) -> list[Way]:
        return [choice.way for choice in self.chosen]


def decide(task: Task) -> Decision:
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
            tuple(t for t in task.tensors if task.scarce or any(t.name in names for names in movable)),
            capacity,
            free_constants,
            free_weights,
            task.scarce,
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
            lasts, near_problem, near = _overlapping(task, chosen, solution.near, near_problem, near)
            return Decision(
                tuple(chosen), solution.near, solution.moved, solution.cycles, bound, tuple(lasts), near_problem, near
            )
        capacity -= near.peak - room.arena
    raise CompileError(
        "near memory", f"no placement of its buffers in {room.arena} bytes was found", "give it more with --l1"
    )


def _constant_rooms(task: Task) -> tuple[int, int]:
    """Bytes for constants in the far and in the weight memory; never less than the preferred kernels need."""
    graph, peak = task.mapped.graph, far_peak(task.tensors)
    free = far_room(task.mapped, task.settings) - io_bytes(graph)
    plain = [next((way for way in one.ways if not way.weights), one.ways[0]) for one in task.found]
    preferred = [constant_bytes(way, task.stored, frozenset(task.owners.values())) for way in plain]
    far, kept = (sum(sizes) for sizes in zip(*preferred, strict=True)) if preferred else (0, 0)
    return max(free - peak, far), max(weight_room(task.mapped) - max(peak - free, 0), kept)


def _overlapping(
    task: Task, chosen: Sequence[Choice], near: frozenset[str], problem: memory.Problem, solution: memory.Solution
) -> tuple[list[int], memory.Problem, memory.Solution]:
    """How long accelerators may last, and a placement that allows it; less of it where there is no room."""
    ways = [choice.way for choice in chosen]
    begun = [step - choice.early * (choice.way.mode == "moved") for step, choice in enumerate(chosen)]
    lasts = lasting(ways, task.owners, begun)
    costs = costs_of(task.mapped.target, task.settings)
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


def _near_problem(task: Task, chosen: Sequence[Choice], near: frozenset[str], lasts: Sequence[int]) -> memory.Problem:
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
        for name, size, is_early in near_buffers(choice.way):
            first = max(step - choice.early, 0) if is_early else step
            buffers.append(memory.Buffer(f"{step} {name}", size, first, step + count))
    return memory.Problem(tuple(buffers), ALIGNMENT)


def near_buffers(way: Way) -> list[tuple[str, int, bool]]:
    """Name, bytes and whether it may be filled early, of every buffer of a layer."""
    found = [(o.name, rounded(o.bytes) * o.buffers, o.is_ready) for o in way.operands if o.streamed]
    scratch = 0 if way.mode == "direct" else rounded(way.scratch)
    found += [(PARAMS, rounded(way.params), True), (SCRATCH, scratch, False)]
    return [(name, size, early) for name, size, early in found if size]

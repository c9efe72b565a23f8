"""What lies where in each memory, step by step, as rectangles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from tilewright.ir.graph import Graph
from tilewright.memory.allocator import Key
from tilewright.memory.arena import Arena
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.home import ARENA, Home
from tilewright.planner.home import CONSTANT as HOME_CONSTANT
from tilewright.planner.keys import PARAMS, SCRATCH, staging_key, tensor_key
from tilewright.records import dataclass
from tilewright.target.memory import Memory

RUNTIME, TENSOR, CONSTANT, STREAM, WORKING = "runtime", "tensor", "constants", "stream", "working memory"
STATE = "state"
KINDS = (TENSOR, STREAM, CONSTANT, WORKING, RUNTIME, STATE)


@dataclass(frozen=True)
class Occupied:
    """Bytes [offset, offset + bytes) during the steps from `first` to `last`."""

    name: str
    kind: str
    offset: int
    bytes: int
    first: int
    last: int

    @property
    def end(self) -> int:
        return self.offset + self.bytes


@dataclass(frozen=True)
class MemoryMap:
    memory: str
    capacity: int
    """Bytes that may be used."""
    used: int
    steps: tuple[str, ...]
    """Numbers and names of the layers; views have no number."""
    regions: tuple[Occupied, ...]
    remark: str = ""

    def live(self, step: int) -> int:
        """Bytes in use at a step."""
        return sum(region.bytes for region in self.regions if region.first <= step <= region.last)

    def as_dict(self) -> dict[str, Any]:
        return {
            "memory": self.memory, "capacity": self.capacity, "used": self.used,
            "regions": [asdict(region) for region in self.regions],
        }  # fmt: skip


def step_titles(graph: Graph, keys: Iterable[str], layers: Sequence[str]) -> tuple[str, ...]:
    """What the steps of a map are called: the layers by the numbers that they have in C, profiles and tables, what
    computes nothing in brackets."""
    numbers = {key: number for number, key in enumerate(layers)}
    named = ((key, graph.short_name(graph.producers[key])) for key in keys)
    return tuple(f"{numbers[key]} {name}" if key in numbers else f"({name})" for key, name in named)


def _step_titles(plan: Plan) -> tuple[str, ...]:
    keys = [step.option.node.key for step in plan.steps]
    return step_titles(plan.mapped.graph, keys, keys)


def memory_maps(plan: Plan) -> tuple[MemoryMap, ...]:
    """L1 and L2, and the other memories that something lives in."""
    steps = _step_titles(plan)
    maps = [_tiles(plan, steps), _home(plan, steps)]
    memories = plan.memories
    remark = f"activations spilled from {memories.home.name}"
    spilled = [memory for memory in memories.beside if plan.arena(memory).problem.buffers]
    maps += [_arena(memory, plan, steps, remark) for memory in spilled]
    for memory in memories.behind:
        constants = [name for name, home in plan.homes.items() if _is_own_constant(name, home, memory)]
        if constants or plan.arena(memory).problem.buffers:
            maps.append(_behind(memory, plan, steps, constants))
    return tuple(maps)


def whole_memory_maps(plan: Plan) -> tuple[MemoryMap, ...]:
    """Of every memory that something lies in, with what lies beside arenas all the time: inputs, outputs, constants."""
    steps = _step_titles(plan)
    memories = plan.memories
    known = {one.memory: one for one in memory_maps(plan)}
    found = (
        known.get(memory.name) if memory in (memories.tiles, *memories.behind) else _whole(memory, plan, steps)
        for memory in memories.memories
    )
    return tuple(one for one in found if one is not None and one.regions)


def _whole(memory: Memory, plan: Plan, steps: tuple[str, ...]) -> MemoryMap:
    """The arena at the bottom and everything else above it, one after the other; where exactly, the linker decides."""
    arena, last = plan.arena(memory), max(len(steps) - 1, 0)
    regions, at = list(_regions(plan, arena, 0)), arena.peak
    for name, home in plan.homes.items():
        if home.owner == name and home.kind != ARENA and home.memory == memory.name:
            kind, size = CONSTANT if home.kind == HOME_CONSTANT else TENSOR, plan.mapped.graph.types[name].bytes
            regions.append(Occupied(name, kind, at, size, 0, last))
            at += size
    remark = "inputs, outputs and constants lie where the linker puts them, here above the arena"
    return MemoryMap(memory.name, memory.bytes or at, at, steps, tuple(regions), remark if at > arena.peak else "")


def _is_own_constant(name: str, home: Home, memory: Memory) -> bool:
    return home.kind == "constant" and home.memory == memory.name and home.owner == name


def _arena(memory: Memory, plan: Plan, steps: tuple[str, ...], remark: str) -> MemoryMap:
    arena = plan.arena(memory)
    return MemoryMap(memory.name, max(arena.peak, 1), arena.peak, steps, tuple(_regions(plan, arena, 0)), remark)


def _tiles(plan: Plan, steps: tuple[str, ...]) -> MemoryMap:
    budget, last, state = plan.budget, max(len(steps) - 1, 0), plan.mapped.target.agents.state
    fixed = [Occupied("state of the runtime", RUNTIME, 0, state, 0, last)]
    if budget.stacks_inside:
        fixed.append(Occupied(f"stacks of {budget.cores} cores", RUNTIME, state, budget.stacks, 0, last))
    regions = (*fixed, *_regions(plan, plan.tiles_arena, budget.base))
    return MemoryMap(plan.memories.tiles.name, budget.total, plan.tile_bytes, steps, regions)


def _home(plan: Plan, steps: tuple[str, ...]) -> MemoryMap:
    own = [name for name, home in plan.homes.items() if home.owner == name and home.kind != "arena"]
    beside = [name for name in own if plan.homes[name].memory == plan.memories.home.name]
    size = sum(plan.mapped.graph.types[name].bytes for name in beside)
    remark = f"the arena for activations; {size:,} bytes of constants, inputs and outputs lie beside it"
    return _arena(plan.memories.home, plan, steps, remark)


def _behind(memory: Memory, plan: Plan, steps: tuple[str, ...], constants: list[str]) -> MemoryMap:
    regions, at = [], 0
    for name in constants:
        size = plan.mapped.graph.types[name].bytes
        regions.append(Occupied(name, CONSTANT, at, size, 0, max(len(steps) - 1, 0)))
        at += -(-size // memory.alignment) * memory.alignment
    arena = plan.arena(memory)
    regions += _regions(plan, arena, at)
    used = at + arena.peak
    remarks = ["constants, staged before they are used"] * bool(constants)
    remarks += [f"activations spilled from {plan.memories.home.name}"] * (
        memory == plan.memories.spill and arena.peak > 0
    )
    return MemoryMap(memory.name, max(used, 1), used, steps, tuple(regions), "; ".join(remarks))


def _regions(plan: Plan, arena: Arena, base: int) -> Iterator[Occupied]:
    offsets = arena.solution.offsets
    for buffer in arena.problem.buffers:
        name, kind = _described(plan, buffer.name)
        yield Occupied(name, kind, base + offsets[buffer.name], buffer.bytes, buffer.first, buffer.last)


def _described(plan: Plan, key: Key) -> tuple[str, str]:
    """What a buffer of the plan is called, and what it is for."""
    if isinstance(key, str):
        return key, TENSOR
    first, operand, *rest = key
    if key == tensor_key(operand):
        kept = next((state.name for state in plan.mapped.graph.states if state.before == operand), None)
        return (operand, TENSOR) if kept is None else (kept, STATE)
    step = plan.steps[int(first)]
    layer = plan.mapped.graph.short_name(step.option.node)
    if rest:
        staging = key == staging_key(int(first), operand)
        if not staging:
            return f"{operand} for {layer}", CONSTANT
        home = plan.homes[next(one.tensor for one in step.option.operands if one.name == operand)]
        return f"{operand} of {layer}, from or to {home.memory}", STREAM
    if operand in (PARAMS, SCRATCH):
        return f"{operand.strip('()')} of {layer}", WORKING if operand == SCRATCH else CONSTANT
    streamed = next(o for o in step.option.operands if o.name == operand)
    times = f", {streamed.buffers} times" if streamed.buffers > 1 else ""
    return f"{operand} of {layer}{times}", CONSTANT if streamed.is_constant else STREAM

"""Where everything lies that is not where tiles are computed: in the home of tensors, beside it, behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.ir.graph import Graph
from tilewright.memory.allocator import Problem, Solution
from tilewright.memory.arena import Arena, side_by_side, solved, solved_behind
from tilewright.planner.cluster import select
from tilewright.planner.cluster.candidates import staged_constants_of
from tilewright.planner.cluster.capacity import (
    check_behind,
    check_beside,
    check_home,
    constant_sizes,
    home_capacity,
    io_bytes,
    room_beside,
)
from tilewright.planner.cluster.elsewhere import Elsewhere
from tilewright.planner.cluster.home_buffers import home_problem, spilled_beside, staging
from tilewright.planner.cluster.lifetimes import states_of
from tilewright.planner.cluster.tiling_option import TilingOption
from tilewright.planner.keys import staged_key, tensor_key
from tilewright.records import dataclass
from tilewright.target.mapping import Mapped
from tilewright.target.memory import Memory
from tilewright.target.settings import Settings


@dataclass(frozen=True)
class MemoryLayout:
    home: Arena
    beside: Mapping[str, Arena]
    """Activations that the home does not hold, by memory."""
    behind: Mapping[str, Arena]
    """By memory, behind its constants: activations, and constants that pass on their way to the home."""
    staged: Mapping[int, Sequence[str]]
    """Step -> the constants that it reads from memories behind."""
    staged_from: Mapping[str, str]
    """These constants -> the memory of each."""
    ahead: int
    """How many steps before they come."""
    resident: Mapping[str, str]
    """Constants in memories beside L2 -> the memory."""
    constants: int
    """Bytes of constants in L2."""
    budget: int
    """Bytes that L2 has beside them and the caller's tensors."""

    def passing(self, memory: Memory | None) -> int:
        """Bytes of a memory behind the home for what passes it, before anything is spilled there."""
        return self.behind[memory.name].peak if memory else 0

    @property
    def fits(self) -> bool:
        return self.home.peak <= self.budget

    def check(self, mapped: Mapped, settings: Settings) -> None:
        """Raises `CompileError` where something does not fit its memory."""
        for arena in (self.home, *self.beside.values(), *self.behind.values()):
            arena.check()
        check_home(mapped, settings, self.home.solution, self.constants)
        for memory in mapped.target.paths.beside:
            solution = self.beside[memory.name].solution
            check_beside(mapped, settings, memory, solution, self.staged_from, self.resident)
        for memory in mapped.target.paths.behind:
            check_behind(mapped, settings, memory, self.behind[memory.name].solution, self.staged_from)


def lay_out(
    mapped: Mapped, settings: Settings, tensors: Sequence[select.Tensor], inside: frozenset[str],
    options: Sequence[TilingOption], elsewhere: Elsewhere, spilled: select.Spilled | None,
) -> MemoryLayout:  # fmt: skip
    """Without `spilled`, what the home does not hold goes into memories beside it as long as these hold it."""
    graph, memories = mapped.graph, mapped.target.paths
    weights = memories.weights.name if memories.weights else ""
    resident = {name: memory for name, memory in elsewhere.beside.items() if name in graph.constants}
    resident |= {option.owners[name]: weights for option in options for name in option.kernel.resident}
    staged = {step: staged_constants_of(option, elsewhere.staged) for step, option in enumerate(options)}
    used = {name: elsewhere.staged[name] for names in staged.values() for name in names}
    constants = constant_sizes(graph, graph.constants.keys() - resident.keys() - used.keys(), memories.home)
    free = home_capacity(mapped, settings) - constants - io_bytes(graph, memories)
    away = spilled.behind if spilled else frozenset()
    shown = [tensor for tensor in tensors if tensor.name not in away]
    pinned = states_of(graph)
    room = room_beside(mapped, settings, used, resident)
    for ahead in (1, 0):
        held = staging(graph, options, staged, ahead)
        moved = spilled.beside if spilled else spilled_beside(shown, inside, held, free, room, memories, pinned)
        problem = home_problem(shown, inside | moved.keys(), held, memories.home)
        if _behind_states(graph, problem, 0).peak <= free:
            break
    return MemoryLayout(
        Arena(problem, _behind_states(graph, problem, 1.0)),
        {one.name: _alone(tensors, _moved_to(moved, one), one) for one in memories.beside},
        {one.name: _passed(mapped, one, tensors, away, staged, used, ahead) for one in memories.behind},
        staged,
        used,
        ahead,
        resident,
        constants,
        free,
    )


def _behind_states(graph: Graph, problem: Problem, time_limit: float) -> Solution:
    """States lie side by side at the start, in their order, so that networks with the same ones can share them."""
    buffers = {buffer.name: buffer for buffer in problem.buffers}
    keys = [key for key in (tensor_key(state.before) for state in graph.states) if key in buffers]
    kept = side_by_side([buffers[key] for key in keys], problem.alignment)
    others = tuple(buffer for name, buffer in buffers.items() if name not in keys)
    return solved_behind(kept, replace(problem, buffers=others), time_limit)


def _moved_to(moved: Mapping[str, str], memory: Memory) -> frozenset[str]:
    return frozenset(name for name, home in moved.items() if home == memory.name)


def _passed(
    mapped: Mapped, memory: Memory, tensors: Sequence[select.Tensor], spilled: frozenset[str],
    staged: Mapping[int, Sequence[str]], homes: Mapping[str, str], ahead: int,
) -> Arena:  # fmt: skip
    """Of a memory behind the home: what is spilled there, and constants from farther behind while they pass."""
    memories = mapped.target.paths
    own = [tensor for tensor in tensors if tensor.name in spilled] if memory == memories.spill else []
    passing = {
        staged_key(step, name): (mapped.graph.types[name].bytes, max(step - ahead, 0), step)
        for step, names in staged.items()
        for name in names
        if memory.name in [link.inner for link in memories.staging(homes[name])]
    }
    return solved(home_problem(own, frozenset(), passing, memory), 1.0)


def _alone(tensors: Sequence[select.Tensor], names: frozenset[str], memory: Memory) -> Arena:
    return solved(home_problem([tensor for tensor in tensors if tensor.name in names], frozenset(), {}, memory), 1.0)

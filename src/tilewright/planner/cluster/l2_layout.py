"""Where everything lies that is not in L1: in L2, in the weight memory, in L3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.ir.graph import Graph
from tilewright.memory.allocator import Problem, Solution
from tilewright.memory.arena import Arena, side_by_side, solved, solved_behind
from tilewright.planner.cluster import select
from tilewright.planner.cluster.candidates import l3_constants_of
from tilewright.planner.cluster.capacity import (
    check_beside,
    check_l2,
    check_l3,
    constant_sizes,
    io_bytes,
    l2_capacity,
    room_beside,
)
from tilewright.planner.cluster.elsewhere import Elsewhere
from tilewright.planner.cluster.l2_buffers import l2_problem, spilled_beside, staging
from tilewright.planner.cluster.lifetimes import states_of
from tilewright.planner.cluster.tiling_option import TilingOption
from tilewright.planner.keys import tensor_key
from tilewright.target.mapping import Mapped
from tilewright.target.memory import Memory
from tilewright.target.settings import Settings


@dataclass(frozen=True)
class MemoryLayout:
    l2: Arena
    beside: Mapping[str, Arena]
    """Activations that L2 does not hold, by memory."""
    l3: Arena
    """Activations in L3, behind its constants."""
    staged: Mapping[int, Sequence[str]]
    """Step -> the constants that it reads from L3."""
    ahead: int
    """How many steps before they come."""
    resident: Mapping[str, str]
    """Constants in memories beside L2 -> the memory."""
    constants: int
    """Bytes of constants in L2."""
    budget: int
    """Bytes that L2 has beside them and the caller's tensors."""

    @property
    def l3_constants(self) -> frozenset[str]:
        return frozenset(name for names in self.staged.values() for name in names)

    @property
    def fits(self) -> bool:
        return self.l2.peak <= self.budget

    def check(self, mapped: Mapped, settings: Settings) -> None:
        """Raises `CompileError` where something does not fit its memory."""
        for arena in (self.l2, *self.beside.values(), self.l3):
            arena.check()
        check_l2(mapped, settings, self.l2.solution, self.constants)
        for memory in mapped.target.hierarchy.beside:
            solution = self.beside[memory.name].solution
            check_beside(mapped, settings, memory, solution, self.l3_constants, self.resident)
        check_l3(mapped, settings, self.l3.solution, self.l3_constants)


def lay_out(
    mapped: Mapped, settings: Settings, tensors: Sequence[select.Tensor], l1: frozenset[str],
    options: Sequence[TilingOption], elsewhere: Elsewhere, spilled: select.Spilled | None,
) -> MemoryLayout:  # fmt: skip
    """Without `spilled`, what L2 does not hold goes into memories beside it as long as these hold it."""
    graph, memories = mapped.graph, mapped.target.hierarchy
    weights = memories.wmem.name if memories.wmem else ""
    resident = {name: memory for name, memory in elsewhere.beside.items() if name in graph.constants}
    resident |= {option.owners[name]: weights for option in options for name in option.kernel.resident}
    staged = {step: l3_constants_of(option, elsewhere.l3) for step, option in enumerate(options)}
    used = frozenset(name for names in staged.values() for name in names)
    constants = constant_sizes(graph, graph.constants.keys() - resident.keys() - used, memories.l2)
    free = l2_capacity(mapped, settings) - constants - io_bytes(graph, memories.l2)
    l3 = spilled.l3 if spilled else frozenset()
    shown = [tensor for tensor in tensors if tensor.name not in l3]
    pinned = states_of(graph)
    room = room_beside(mapped, settings, used, resident)
    for ahead in (1, 0):
        held = staging(graph, options, staged, ahead)
        moved = spilled.beside if spilled else spilled_beside(shown, l1, held, free, room, memories, pinned)
        problem = l2_problem(shown, l1 | moved.keys(), held, memories.l2)
        if _behind_states(graph, problem, 0).peak <= free:
            break
    return MemoryLayout(
        Arena(problem, _behind_states(graph, problem, 1.0)),
        {one.name: _alone(tensors, _moved_to(moved, one), one) for one in memories.beside},
        _alone(tensors, l3, memories.l3 or memories.l2),
        staged,
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


def _alone(tensors: Sequence[select.Tensor], names: frozenset[str], memory: Memory) -> Arena:
    return solved(l2_problem([tensor for tensor in tensors if tensor.name in names], frozenset(), {}, memory), 1.0)

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
    check_l2,
    check_l3,
    check_wmem,
    constant_sizes,
    io_bytes,
    l2_capacity,
    wmem_for_activations,
)
from tilewright.planner.cluster.elsewhere import Elsewhere
from tilewright.planner.cluster.l2_buffers import l2_problem, spilled_to_wmem, staging
from tilewright.planner.cluster.lifetimes import states_of
from tilewright.planner.cluster.tiling_option import TilingOption
from tilewright.planner.keys import tensor_key
from tilewright.target.mapping import Mapped
from tilewright.target.memory import Memory
from tilewright.target.settings import Settings


@dataclass(frozen=True)
class MemoryLayout:
    l2: Arena
    wmem: Arena
    l3: Arena
    """Activations in L3, behind its constants."""
    staged: Mapping[int, Sequence[str]]
    """Step -> the constants that it reads from L3."""
    ahead: int
    """How many steps before they come."""
    resident: frozenset[str]
    """Constants in the weight memory."""
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
        for arena in (self.l2, self.wmem, self.l3):
            arena.check()
        check_l2(mapped, settings, self.l2.solution, self.constants)
        check_wmem(mapped, settings, self.wmem.solution, self.l3_constants, self.resident)
        check_l3(mapped, settings, self.l3.solution, self.l3_constants)


def lay_out(
    mapped: Mapped, settings: Settings, tensors: Sequence[select.Tensor], l1: frozenset[str],
    options: Sequence[TilingOption], elsewhere: Elsewhere, spilled: select.Spilled | None,
) -> MemoryLayout:  # fmt: skip
    """Without `spilled`, what L2 does not hold goes into the weight memory as long as that holds it."""
    graph, memories = mapped.graph, mapped.target.hierarchy
    resident = frozenset(option.owners[name] for option in options for name in option.kernel.resident)
    resident |= elsewhere.wmem & graph.constants.keys()
    staged = {step: l3_constants_of(option, elsewhere.l3) for step, option in enumerate(options)}
    used = frozenset(name for names in staged.values() for name in names)
    constants = constant_sizes(graph, graph.constants.keys() - resident - used, memories.l2)
    free = l2_capacity(mapped, settings) - constants - io_bytes(graph, memories.l2)
    l3 = spilled.l3 if spilled else frozenset()
    shown = [tensor for tensor in tensors if tensor.name not in l3]
    pinned = states_of(graph)
    budget = wmem_for_activations(mapped, settings, used, resident)
    for ahead in (1, 0):
        held = staging(graph, options, staged, ahead)
        wmem = spilled.wmem if spilled else spilled_to_wmem(shown, l1, held, free, budget, memories, pinned)
        problem = l2_problem(shown, l1 | wmem, held, memories.l2)
        if _behind_states(graph, problem, 0).peak <= free:
            break
    return MemoryLayout(
        Arena(problem, _behind_states(graph, problem, 1.0)),
        _alone(tensors, wmem, memories.wmem or memories.l2),
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


def _alone(tensors: Sequence[select.Tensor], names: frozenset[str], memory: Memory) -> Arena:
    return solved(l2_problem([tensor for tensor in tensors if tensor.name in names], frozenset(), {}, memory), 1.0)

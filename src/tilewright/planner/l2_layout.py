"""Where everything lies that is not near: in the far memory, in the spare one, in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.memory import allocator
from tilewright.memory.validate import check_placement
from tilewright.planner import select
from tilewright.planner.candidates import l3_constants_of as l3_constants_of
from tilewright.planner.capacity import (
    check_l2,
    check_l3,
    check_wmem,
    constant_sizes,
    io_bytes,
    l2_capacity,
    wmem_for_activations,
)
from tilewright.planner.l2_buffers import l2_problem, spilled_to_wmem, staging
from tilewright.planner.options import TilingOption
from tilewright.target.mapping import Mapped
from tilewright.target.settings import Settings


@dataclass(frozen=True)
class Layout:
    l2_problem: allocator.Problem
    l2: allocator.Solution
    wmem_problem: allocator.Problem
    wmem: allocator.Solution
    l3_problem: allocator.Problem
    l3: allocator.Solution
    """Activations in the store, behind its constants."""
    staged: Mapping[int, Sequence[str]]
    """Step -> the constants that it reads from the store."""
    ahead: int
    """How many steps before they come."""
    resident: frozenset[str]
    """Constants in the weight memory."""
    constants: int
    """Bytes of constants in the far memory."""
    budget: int
    """Bytes that the far memory has beside them and the caller's tensors."""

    @property
    def l3_constants(self) -> frozenset[str]:
        return frozenset(name for names in self.staged.values() for name in names)

    @property
    def fits(self) -> bool:
        return self.l2.peak <= self.budget

    def check(self, mapped: Mapped, settings: Settings) -> None:
        """Raises `CompileError` where something has no room."""
        for posed, solved in (
            (self.l2_problem, self.l2), (self.wmem_problem, self.wmem), (self.l3_problem, self.l3),
        ):  # fmt: skip
            check_placement(posed, solved)
        check_l2(mapped, settings, self.l2, self.constants)
        check_wmem(mapped, self.wmem, self.l3_constants, self.resident)
        check_l3(mapped, self.l3, self.l3_constants)


def lay_out(
    mapped: Mapped, settings: Settings, tensors: Sequence[select.Tensor], l1: frozenset[str],
    options: Sequence[TilingOption], l3_constants: frozenset[str], spilled: select.Spilled | None,
) -> Layout:  # fmt: skip
    """Without `moved`, what the far memory has no room for goes into the spare one as long as that has."""
    graph = mapped.graph
    resident = frozenset(option.owners[name] for option in options for name in option.kernel.resident)
    staged = {step: l3_constants_of(option, l3_constants) for step, option in enumerate(options)}
    used = frozenset(name for names in staged.values() for name in names)
    constants = constant_sizes(graph, graph.constants.keys() - resident - used)
    free = l2_capacity(mapped, settings) - constants - io_bytes(graph)
    l3 = spilled.l3 if spilled else frozenset()
    shown = [tensor for tensor in tensors if tensor.name not in l3]
    budget = wmem_for_activations(mapped, settings, used, resident)
    for ahead in (1, 0):
        held = staging(graph, options, staged, ahead)
        wmem = spilled.wmem if spilled else spilled_to_wmem(shown, l1, held, free, budget)
        problem = l2_problem(shown, l1 | wmem, held)
        if allocator.solve(problem, 0).peak <= free:
            break
    wmem_problem, l3_problem = (_alone(tensors, names) for names in (wmem, l3))
    return Layout(
        problem, allocator.solve(problem, 1.0), wmem_problem, allocator.solve(wmem_problem, 1.0), l3_problem,
        allocator.solve(l3_problem, 1.0), staged, ahead, resident, constants, free,
    )  # fmt: skip


def _alone(tensors: Sequence[select.Tensor], names: frozenset[str]) -> allocator.Problem:
    return l2_problem([tensor for tensor in tensors if tensor.name in names], frozenset(), {})

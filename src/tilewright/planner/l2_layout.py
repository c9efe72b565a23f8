"""Where everything lies that is not near: in the far memory, in the spare one, in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.memory import allocator
from tilewright.memory.validate import check_placement
from tilewright.planner import select
from tilewright.planner.candidates import stored_owners as read_from_store
from tilewright.planner.capacity import (
    check_far,
    check_spare,
    check_store,
    constant_sizes,
    far_room,
    io_bytes,
    spare_room,
)
from tilewright.planner.l2_buffers import far_problem, moved_to_spare, staging
from tilewright.planner.options import Way
from tilewright.target.mapping import Mapped
from tilewright.target.settings import Settings


@dataclass(frozen=True)
class Layout:
    far_problem: allocator.Problem
    far: allocator.Solution
    spare_problem: allocator.Problem
    spare: allocator.Solution
    deep_problem: allocator.Problem
    deep: allocator.Solution
    """Activations in the store, behind its constants."""
    staged: Mapping[int, Sequence[str]]
    """Step -> the constants that it reads from the store."""
    ahead: int
    """How many steps before they come."""
    resident: frozenset[str]
    """Constants in the weight memory."""
    constants: int
    """Bytes of constants in the far memory."""
    room: int
    """Bytes that the far memory has beside them and the caller's tensors."""

    @property
    def stored(self) -> frozenset[str]:
        return frozenset(name for names in self.staged.values() for name in names)

    @property
    def fits(self) -> bool:
        return self.far.peak <= self.room

    def check(self, mapped: Mapped, settings: Settings) -> None:
        """Raises `CompileError` where something has no room."""
        for posed, solved in (
            (self.far_problem, self.far), (self.spare_problem, self.spare), (self.deep_problem, self.deep),
        ):  # fmt: skip
            check_placement(posed, solved)
        check_far(mapped, settings, self.far, self.constants)
        check_spare(mapped, self.spare, self.stored, self.resident)
        check_store(mapped, self.deep, self.stored)


def lay_out(
    mapped: Mapped, settings: Settings, tensors: Sequence[select.Tensor], near: frozenset[str], ways: Sequence[Way],
    stored: frozenset[str], moved: select.Moved | None,
) -> Layout:  # fmt: skip
    """Without `moved`, what the far memory has no room for goes into the spare one as long as that has."""
    graph = mapped.graph
    resident = frozenset(way.owners[name] for way in ways for name in way.kernel.resident)
    staged = {step: read_from_store(way, stored) for step, way in enumerate(ways)}
    used = frozenset(name for names in staged.values() for name in names)
    constants = constant_sizes(graph, graph.constants.keys() - resident - used)
    free = far_room(mapped, settings) - constants - io_bytes(graph)
    deep = moved.deep if moved else frozenset()
    shown = [tensor for tensor in tensors if tensor.name not in deep]
    room = spare_room(mapped, settings, used, resident)
    for ahead in (1, 0):
        held = staging(graph, ways, staged, ahead)
        spare = moved.spare if moved else moved_to_spare(shown, near, held, free, room)
        problem = far_problem(shown, near | spare, held)
        if allocator.solve(problem, 0).peak <= free:
            break
    spare_problem, deep_problem = (_alone(tensors, names) for names in (spare, deep))
    return Layout(
        problem, allocator.solve(problem, 1.0), spare_problem, allocator.solve(spare_problem, 1.0), deep_problem,
        allocator.solve(deep_problem, 1.0), staged, ahead, resident, constants, free,
    )  # fmt: skip


def _alone(tensors: Sequence[select.Tensor], names: frozenset[str]) -> allocator.Problem:
    return far_problem([tensor for tensor in tensors if tensor.name in names], frozenset(), {})

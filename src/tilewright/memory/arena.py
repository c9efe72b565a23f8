"""A problem together with its solution: which buffers share a memory, for how long, and where each lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from tilewright.memory.allocator import Buffer, Key, Problem, Solution, solve
from tilewright.memory.validate import check_placement
from tilewright.records import dataclass


@dataclass(frozen=True)
class Arena:
    problem: Problem = field(default_factory=lambda: Problem((), 1))
    solution: Solution = field(default_factory=lambda: Solution({}, 0, 0, "empty"))

    @property
    def peak(self) -> int:
        return self.solution.peak

    def check(self) -> None:
        """Raises `InternalError` where two buffers overlap while both are needed."""
        check_placement(self.problem, self.solution)


NO_ARENA = Arena()


def solved(problem: Problem, time_limit: float) -> Arena:
    return Arena(problem, solve(problem, time_limit))


def side_by_side(buffers: Sequence[Buffer], alignment: int) -> Solution:
    """One after the other, in their order."""
    offsets: dict[Key, int] = {}
    at = 0
    for buffer in buffers:
        offsets[buffer.name] = at
        at += -(-buffer.bytes // alignment) * alignment
    return Solution(offsets, at, at, "side by side")


def solved_behind(kept: Solution, problem: Problem, time_limit: float | None = None) -> Solution:
    """A placement behind bytes that are taken already."""
    left = None if problem.capacity is None else max(problem.capacity - kept.peak, 0)
    rest = replace(problem, capacity=left)
    found = solve(rest) if time_limit is None else solve(rest, time_limit)
    offsets = dict(kept.offsets) | {name: kept.peak + offset for name, offset in found.offsets.items()}
    return replace(found, offsets=offsets, peak=kept.peak + found.peak, lower_bound=kept.peak + found.lower_bound)

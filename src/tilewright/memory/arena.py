"""A problem together with its solution: which buffers share a memory, for how long, and where each lies."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.memory.allocator import Problem, Solution, solve
from tilewright.memory.validate import check_placement


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

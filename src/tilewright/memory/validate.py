"""Checks of what solvers return, written from the definitions and without the solvers' code. They always run."""

from __future__ import annotations

import bisect
from typing import NamedTuple

from tilewright.errors import InternalError
from tilewright.memory.allocator import Buffer, Problem, Solution, shown


class _Range(NamedTuple):
    """The bytes of a buffer, end excluded."""

    start: int
    end: int
    buffer: Buffer

    def __str__(self) -> str:
        buffer = self.buffer
        return f"'{shown(buffer.name)}' (bytes {self.start} to {self.end}, steps {buffer.first} to {buffer.last})"


def check_placement(problem: Problem, solution: Solution) -> None:
    """Raise `InternalError` unless each buffer has its own bytes for as long as it lives."""
    ranges = [_placed(problem, solution, buffer) for buffer in problem.buffers]
    _check_apart([placed for placed in ranges if placed.buffer.bytes])


def _placed(problem: Problem, solution: Solution, buffer: Buffer) -> _Range:
    if buffer.name not in solution.offsets:
        raise _broken(f"buffer '{shown(buffer.name)}' has no offset")
    start = solution.offsets[buffer.name]
    placed = _Range(start, start + buffer.bytes, buffer)
    if start < 0:
        raise _broken(f"{placed} starts below 0")
    if start % problem.alignment:
        raise _broken(f"{placed} is not aligned to {problem.alignment} bytes")
    if placed.end > solution.peak:
        raise _broken(f"{placed} ends beyond the peak of {solution.peak} bytes")
    if problem.capacity is not None and placed.end > problem.capacity:
        raise _broken(f"{placed} ends beyond the capacity of {problem.capacity} bytes")
    return placed


def _check_apart(ranges: list[_Range]) -> None:
    """Sweep over time. What is alive is kept in the order of bytes and apart, so a newcomer meets only two of it."""
    births = [(placed.buffer.first, 1, placed) for placed in ranges]
    deaths = [(placed.buffer.last + 1, 0, placed) for placed in ranges]
    alive: list[_Range] = []
    for _, born, placed in sorted(births + deaths, key=lambda event: event[:2]):
        at = bisect.bisect_left(alive, placed.start, key=lambda other: other.start)
        if not born:
            alive.pop(at)
            continue
        for other in alive[max(at - 1, 0) : at + 1]:
            if other.start < placed.end and placed.start < other.end:
                raise _broken(f"{other} and {placed} overlap")
        alive.insert(at, placed)


def _broken(what: str) -> InternalError:
    return InternalError("memory plan", what)

"""A check of layers that several threads compute at once, from addresses alone and without the planner's code."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations

from tilewright.errors import InternalError
from tilewright.planner.home import ARENA
from tilewright.planner.schedule.schedule import Call, Part, Schedule

Region = tuple[str, int, int]
"""Whose bytes, and from where to where."""


def check_threads(schedule: Schedule) -> Schedule:
    """Raises `InternalError` where a result is not made whole, or a part writes what another one touches."""
    for call in schedule.calls:
        if call.parts:
            _check_results(schedule, call)
            _check_apart(schedule, call)
    return schedule


def _check_results(schedule: Schedule, call: Call) -> None:
    for name, tensor in call.node.results().items():
        made = sorted((part.share.bytes(name) for part in call.parts), key=lambda span: span.start)
        ends = [0, *(end for span in made for end in (span.start, span.stop)), schedule.graph.types[tensor].bytes]
        if any(end != start for end, start in list(pairwise(ends))[::2]):
            raise _fault(call, f"parts of {name} are bytes {', '.join(f'{one.start} to {one.stop}' for one in made)}")


def _check_apart(schedule: Schedule, call: Call) -> None:
    for one, other in permutations(call.parts, 2):
        touched = [*_read(schedule, call, other), *_written(schedule, call, other)]
        for whose, start, end in _written(schedule, call, one):
            if any(whose == its and start < stop and begin < end for its, begin, stop in touched):
                raise _fault(call, f"one part writes bytes {start} to {end} of {whose}, which another one touches")


def _read(schedule: Schedule, call: Call, part: Part) -> Iterator[Region]:
    for name, tensor in call.node.operands().items():
        yield _region(schedule, tensor, part.share.bytes(name))


def _written(schedule: Schedule, call: Call, part: Part) -> Iterator[Region]:
    for name, tensor in call.node.results().items():
        yield _region(schedule, tensor, part.share.bytes(name))
    if part.scratch is not None:
        yield ARENA, part.scratch, part.scratch + call.kernel.scratch_bytes(part.share.op, part.share.types)


def _region(schedule: Schedule, tensor: str, span: range) -> Region:
    place = schedule.places[tensor]
    whose, base = (ARENA, place.offset) if place.kind == ARENA else (place.owner, 0)
    return whose, base + span.start, base + span.stop


def _fault(call: Call, what: str) -> InternalError:
    return InternalError(call.node.where, what)

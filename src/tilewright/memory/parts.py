"""One plan over several memories that do not adjoin: every buffer lies in one of them, whole.

Parts of the plan count as one behind the other, so that a buffer has one offset.
"""

from __future__ import annotations

import bisect
import random
from collections.abc import Iterator, Sequence

from tilewright.errors import InternalError
from tilewright.memory.allocator import ORDERS, Buffer, Key, Problem, Solution, lowest_gap, shown
from tilewright.memory.arena import side_by_side
from tilewright.memory.packing import Box
from tilewright.memory.validate import check_placement
from tilewright.records import dataclass

TRIES = 400
"""Orders that are tried; the first one in which everything fits is taken."""


@dataclass(frozen=True)
class Parts:
    """A solution whose bytes are in several memories."""

    solution: Solution
    sizes: tuple[int, ...]
    """Bytes in each memory, in the order of their capacities."""


def solve_in_parts(problem: Problem, kept: Sequence[Buffer], capacities: Sequence[int]) -> Parts | None:
    """A placement in which no memory holds more than its capacity, or None if none is found. What is `kept` lies at the
    start of the first, side by side."""
    unit = problem.alignment
    start = side_by_side(kept, unit)
    moving = [buffer for buffer in problem.buffers if buffer not in kept]
    units = [(capacities[0] - start.peak) // unit, *(size // unit for size in capacities[1:])]
    boxes = [Box(buffer.first, buffer.last, -(-buffer.bytes // unit)) for buffer in moving]
    if units[0] < 0:
        return None
    for order in _orders(boxes):
        placed = _first_fit(boxes, order, units)
        if placed is not None:
            return _parts(problem, start, moving, placed, len(units))
    return None


def _orders(boxes: Sequence[Box]) -> Iterator[list[int]]:
    """Those of first-fit, then each of them with some neighbours exchanged. The same for the same problem."""
    found = [sorted(range(len(boxes)), key=lambda index: key(boxes[index])) for key in ORDERS.values()]
    yield from found
    chance = random.Random(0)
    for number in range(TRIES if len(boxes) > 1 else 0):
        order = list(found[number % len(found)])
        for _ in range(1 + number // 40):
            at = chance.randrange(len(order))
            order.insert(chance.randrange(len(order)), order.pop(at))
        yield order


def _first_fit(boxes: Sequence[Box], order: Sequence[int], units: Sequence[int]) -> dict[int, tuple[int, int]] | None:
    """Each box in turn in the first memory that has room for it: its memory and its place there."""
    taken: list[list[tuple[int, int, Box]]] = [[] for _ in units]
    placed: dict[int, tuple[int, int]] = {}
    for index in order:
        box = boxes[index]
        for memory, most in enumerate(units):
            at = lowest_gap(box, taken[memory])
            if at + box.height <= most:
                bisect.insort(taken[memory], (at, at + box.height, box))
                placed[index] = memory, at
                break
        else:
            return None
    return placed


def _parts(
    problem: Problem, start: Solution, moving: Sequence[Buffer], placed: dict[int, tuple[int, int]], count: int
) -> Parts:
    """With offsets as if the memories adjoined."""
    unit = problem.alignment
    sizes = [start.peak, *[0] * (count - 1)]
    for index, (memory, at) in placed.items():
        base = start.peak if memory == 0 else 0
        sizes[memory] = max(sizes[memory], base + at * unit + -(-moving[index].bytes // unit) * unit)
    starts = [sum(sizes[:memory]) + (start.peak if memory == 0 else 0) for memory in range(count)]
    offsets: dict[Key, int] = dict(start.offsets)
    offsets |= {moving[index].name: starts[memory] + at * unit for index, (memory, at) in placed.items()}
    return Parts(Solution(offsets, sum(sizes), 0, f"first fit in {count} memories"), tuple(sizes))


def check_parts(problem: Problem, found: Parts, capacities: Sequence[int]) -> None:
    """Raise `InternalError` unless each buffer has its own bytes for as long as it lives, in one memory."""
    check_placement(problem, found.solution)
    ends = [sum(found.sizes[: memory + 1]) for memory in range(len(found.sizes))]
    for size, capacity in zip(found.sizes, capacities, strict=True):
        if size > capacity:
            raise InternalError("memory plan", f"{size} bytes in a memory with room for {capacity}")
    for buffer in problem.buffers:
        start = found.solution.offsets[buffer.name]
        if any(start < end < start + buffer.bytes for end in ends):
            raise InternalError("memory plan", f"'{shown(buffer.name)}' lies in two memories")

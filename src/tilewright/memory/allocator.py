"""Static memory planning: buffers with sizes and lifetimes in, an offset for each out, with a bound on the waste.

First-fit in several orders, then a search while the peak is above the lower bound. Its limit is a count of work, not
seconds, so that a problem has the same solution on every machine.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from tilewright.errors import CompileError, InternalError
from tilewright.memory.lowering import improve
from tilewright.memory.packing import Box, Packing, live_heights, packing
from tilewright.records import dataclass

SEARCH_WORK = 100_000_000
"""Work of the search for each second of the time limit; half a second goes into it."""

SEARCH_PAIRS = 500_000
"""With more pairs of buffers alive together than this, the search would take too much memory."""

NAMED = 5
"""How many buffers an error names."""

ADVICE = "make the tensors of that step smaller, or choose a target with more memory"


Key = str | tuple[str, ...]
"""What a buffer is called: anything that tells it from others."""


def shown(key: Key) -> str:
    """A buffer's name for people."""
    return key if isinstance(key, str) else " ".join(key)


@dataclass(frozen=True)
class Buffer:
    """Bytes that are alive from step `first` to step `last`, both included."""

    name: Key
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Problem:
    buffers: tuple[Buffer, ...]
    alignment: int = 16
    capacity: int | None = None

    def __post_init__(self) -> None:
        if self.alignment < 1:
            raise InternalError("memory plan", f"an alignment of {self.alignment} bytes")
        if len({buffer.name for buffer in self.buffers}) < len(self.buffers):
            raise InternalError("memory plan", "two buffers of the same name")
        for buffer in self.buffers:
            if buffer.bytes < 0 or buffer.first > buffer.last:
                raise InternalError("memory plan", f"a buffer of negative size or lifetime: {buffer}")


@dataclass(frozen=True)
class Solution:
    offsets: Mapping[Key, int]
    peak: int
    """The bytes to reserve: up to the end of the highest buffer, in whole units of the alignment."""
    lower_bound: int
    """No placement has a lower peak than this."""
    method: str
    """`heuristic` or `search`: what had the last word."""

    @property
    def gap(self) -> float:
        """How much lower the peak might be, as a fraction of the lower bound."""
        return (self.peak - self.lower_bound) / self.lower_bound if self.lower_bound else 0.0


def solve(problem: Problem, time_limit: float = 5.0) -> Solution:
    """The placement with the lowest peak that about `time_limit` seconds of work find; zero stands for first-fit alone.

    Raises `CompileError` if it exceeds the capacity.
    """
    buffers = [buffer for buffer in problem.buffers if buffer.bytes]
    unit = _unit(buffers, problem.alignment)
    boxes, columns = _boxes(buffers, unit)
    floor = max(live_heights(boxes, columns), default=0)
    _check_capacity(problem, floor * unit, floor * unit)
    capacity = None if problem.capacity is None else problem.capacity // unit
    best, method = _pack(boxes, columns, floor, time_limit, capacity)
    _check_capacity(problem, best.peak * unit, best.floor * unit)
    placed = {buffer.name: offset * unit for buffer, offset in zip(buffers, best.offsets, strict=True)}
    offsets = {buffer.name: placed.get(buffer.name, 0) for buffer in problem.buffers}
    return Solution(offsets, best.peak * unit, best.floor * unit, method)


def _pack(
    boxes: Sequence[Box], columns: int, floor: int, time_limit: float, capacity: int | None
) -> tuple[Packing, str]:
    """The best packing of boxes, and what found it."""
    best = _first_fits(boxes, floor)
    if best.optimal or time_limit <= 0:
        return best, "heuristic"
    pairs = _pairs(boxes)
    if pairs > SEARCH_PAIRS:
        return best, f"heuristic ({pairs} pairs are too many for a search)"
    return _search(boxes, columns, best, int(SEARCH_WORK * time_limit), capacity), "search"


def _search(boxes: Sequence[Box], columns: int, best: Packing, budget: int, capacity: int | None) -> Packing:
    """Groups of boxes are searched apart, the smallest first: an order that is lucky for all of them at once is rare.
    No group has to be lower than the floor of all."""
    offsets, floor = list(best.offsets), best.floor
    groups = sorted(_groups(boxes), key=len)
    for number, group in enumerate(groups):
        own = [boxes[index] for index in group]
        start = packing(own, tuple(best.offsets[index] for index in group), floor)
        found, work = improve(own, columns, start, budget // (len(groups) - number), capacity)
        floor, budget = max(floor, found.floor), max(0, budget - work)
        for index, offset in zip(group, found.offsets, strict=True):
            offsets[index] = offset
    return packing(boxes, tuple(offsets), floor)


def _groups(boxes: Sequence[Box]) -> list[list[int]]:
    """The indices of boxes, those together that columns connect."""
    groups: list[list[int]] = []
    end = -1
    for index in sorted(range(len(boxes)), key=lambda index: boxes[index].first):
        if boxes[index].first > end:
            groups.append([])
        groups[-1].append(index)
        end = max(end, boxes[index].last)
    return groups


# ---- buffers as boxes -----------------------------------------------------------------------------------------------


def _boxes(buffers: Sequence[Buffer], unit: int) -> tuple[list[Box], int]:
    """Buffers as boxes whose heights are counted in units, and the number of columns that time is reduced to."""
    steps = _fullest_steps(buffers)
    boxes = [
        Box(
            bisect.bisect_left(steps, buffer.first),
            bisect.bisect_right(steps, buffer.last) - 1,
            -(-buffer.bytes // unit),
        )
        for buffer in buffers
    ]
    return boxes, len(steps)


def _fullest_steps(buffers: Iterable[Buffer]) -> list[int]:
    """The first death after each birth: what is alive together at any step is alive together at one of these."""
    events = sorted(event for buffer in buffers for event in ((buffer.first, 0), (buffer.last, 1)))
    return [step for (_, died), (step, dies) in itertools.pairwise(events) if dies and not died]


def _unit(buffers: Iterable[Buffer], alignment: int) -> int:
    """What all sizes are multiples of, in whole units of the alignment."""
    return alignment * math.gcd(*(-(-buffer.bytes // alignment) for buffer in buffers)) or alignment


def _pairs(boxes: Iterable[Box]) -> int:
    """How many pairs of boxes share a column."""
    pairs = 0
    lasts: list[int] = []
    for box in sorted(boxes):
        lasts = [last for last in lasts if last >= box.first]
        pairs += len(lasts)
        lasts.append(box.last)
    return pairs


# ---- first fit ------------------------------------------------------------------------------------------------------

ORDERS: Mapping[str, Callable[[Box], tuple[int, ...]]] = {
    "size": lambda box: (-box.height, box.first - box.last),
    "area": lambda box: (-box.height * (box.last - box.first + 1),),
    "lifetime": lambda box: (box.first - box.last, -box.height),
    "birth": lambda box: (box.first, -box.height),
}


def _first_fits(boxes: Sequence[Box], floor: int) -> Packing:
    """The best of first-fit in several orders."""
    found: list[Packing] = []
    for key in ORDERS.values():
        found.append(packing(boxes, first_fit(boxes, key), floor))
        if found[-1].optimal:
            break
    return min(found, key=lambda packed: packed.peak)


def first_fit(boxes: Sequence[Box], key: Callable[[Box], tuple[int, ...]]) -> tuple[int, ...]:
    """Each box in turn at the lowest offset that is free for as long as it lives."""
    offsets = [0] * len(boxes)
    placed: list[tuple[int, int, Box]] = []  # by offset
    for index in sorted(range(len(boxes)), key=lambda index: key(boxes[index])):
        box = boxes[index]
        offset = offsets[index] = lowest_gap(box, placed)
        bisect.insort(placed, (offset, offset + box.height, box))
    return tuple(offsets)


def lowest_gap(box: Box, placed: Iterable[tuple[int, int, Box]]) -> int:
    """The lowest offset that is free for as long as a box lives; what is placed comes with its start and end."""
    first, last, height = box
    offset = 0
    for start, end, (born, dies, _) in placed:
        if born > last or dies < first:
            continue
        if start - offset >= height:
            break
        offset = max(offset, end)
    return offset


# ---- capacity -------------------------------------------------------------------------------------------------------


def _check_capacity(problem: Problem, needed: int, bound: int) -> None:
    if problem.capacity is None or needed <= problem.capacity:
        return
    proven = bound > problem.capacity
    hint = (
        f"every placement needs at least {bound} bytes"
        if proven
        else f"at least {bound} bytes are needed, but no placement with so few was found"
    )
    what = f"needs {needed} bytes, {problem.capacity} available; {_largest_moment(problem)}"
    raise CompileError("memory", what, f"{hint}: {ADVICE}")


def _largest_moment(problem: Problem) -> str:
    step = fullest_step(problem)
    found = largest_alive(problem, step)
    named = ", ".join(f"'{shown(buffer.name)}' ({buffer.bytes} bytes)" for buffer in found[:NAMED])
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return f"the largest moment is step {step} with buffers {named}{more}"


def fullest_step(problem: Problem) -> int:
    """The first step with the most bytes alive."""
    steps = sorted({buffer.first for buffer in problem.buffers})
    return max(steps, key=lambda step: sum(buffer.bytes for buffer in _alive(problem, step)), default=0)


def largest_alive(problem: Problem, step: int) -> list[Buffer]:
    """What is alive at a step, the largest first."""
    return sorted(_alive(problem, step), key=lambda buffer: (-buffer.bytes, shown(buffer.name)))


def _alive(problem: Problem, step: int) -> list[Buffer]:
    return [buffer for buffer in problem.buffers if buffer.bytes and buffer.first <= step <= buffer.last]

"""Buffers that are better off one right behind the other: a placement is changed where there is room for that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.memory.allocator import Buffer, Key, Problem
from tilewright.memory.arena import Arena

Pair = tuple[Key, Key]


def side_by_side(arena: Arena, pairs: Iterable[Pair], capacity: int) -> Arena:
    """The arena with as many pairs as neighbours as fit the capacity, earlier pairs first; all else stays in place."""
    settled: set[Key] = set()
    for pair in pairs:
        if pair[0] == pair[1]:
            continue
        moved = _moved(arena, pair, settled, capacity)
        if moved is None:
            continue
        arena = _with(arena, moved)
        settled |= set(pair)
    return arena


def _with(arena: Arena, moved: Mapping[Key, int]) -> Arena:
    offsets = {**arena.solution.offsets, **moved}
    peak = max((offsets[buffer.name] + _size(arena.problem, buffer) for buffer in arena.problem.buffers), default=0)
    return replace(arena, solution=replace(arena.solution, offsets=offsets, peak=peak))


def _moved(arena: Arena, pair: Pair, settled: set[Key], capacity: int) -> dict[Key, int] | None:
    """The lowest offsets for both at which they are neighbours; those of what is settled stay."""
    buffers = {buffer.name: buffer for buffer in arena.problem.buffers}
    others = [buffer for buffer in arena.problem.buffers if buffer.name not in pair]
    for offsets in _places(arena, [buffers[key] for key in pair], others):
        kept = all(offsets[key] == arena.solution.offsets[key] for key in pair if key in settled)
        ends = max(offsets[key] + _size(arena.problem, buffers[key]) for key in pair)
        if kept and ends <= capacity and all(_is_free(arena, buffers[key], offsets[key], others) for key in pair):
            return offsets
    return None


def _places(arena: Arena, pair: Sequence[Buffer], others: Sequence[Buffer]) -> Iterator[dict[Key, int]]:
    """Both one behind the other, in either order: from the start, behind each other buffer, and where one is."""
    sizes, found = [_size(arena.problem, buffer) for buffer in pair], arena.solution.offsets
    starts = {0, *(found[other.name] + _size(arena.problem, other) for other in others)}
    for index in range(2):
        own, size, before = found[pair[index].name], sizes[index], sizes[1 - index]
        starts |= {own, own - before, own + size - before, own - size}
    for start in sorted(start for start in starts if start >= 0):
        for first in range(2):
            yield {pair[first].name: start, pair[1 - first].name: start + sizes[first]}


def _is_free(arena: Arena, buffer: Buffer, offset: int, others: Sequence[Buffer]) -> bool:
    end = offset + _size(arena.problem, buffer)
    for other in others:
        start = arena.solution.offsets[other.name]
        lives = other.bytes and other.first <= buffer.last and buffer.first <= other.last
        if lives and start < end and offset < start + _size(arena.problem, other):
            return False
    return True


def _size(problem: Problem, buffer: Buffer) -> int:
    return -(-buffer.bytes // problem.alignment) * problem.alignment

"""Buffers that are moved next to each other: nothing overlaps, nothing else moves, and only where there is room."""

from __future__ import annotations

import random

from tilewright.memory.adjacent import side_by_side
from tilewright.memory.allocator import Buffer, Problem, Solution
from tilewright.memory.arena import Arena, solved


def arena(*buffers: Buffer, offsets: dict[str, int], alignment: int = 8) -> Arena:
    peak = max(offsets[str(buffer.name)] + buffer.bytes for buffer in buffers)
    return Arena(Problem(buffers, alignment), Solution(dict(offsets.items()), peak, 0, "given"))


def are_neighbours(found: Arena, a: str, b: str) -> bool:
    sizes = {buffer.name: -(-buffer.bytes // 8) * 8 for buffer in found.problem.buffers}
    at = found.solution.offsets
    return at[a] + sizes[a] == at[b] or at[b] + sizes[b] == at[a]


A, B, BETWEEN = Buffer("a", 64, 0, 3), Buffer("b", 64, 2, 3), Buffer("between", 100, 1, 2)
APART = arena(A, B, BETWEEN, offsets={"a": 0, "between": 64, "b": 168})


def test_they_are_moved() -> None:
    found = side_by_side(APART, [("a", "b")], 1000)
    found.check()
    assert are_neighbours(found, "a", "b")
    assert found.solution.offsets["between"] == 64


def test_not_without_room() -> None:
    assert side_by_side(APART, [("a", "b")], 232).solution == APART.solution


def test_neighbours_stay() -> None:
    near = arena(A, B, offsets={"a": 64, "b": 0})
    assert are_neighbours(side_by_side(near, [("a", "b")], 128), "a", "b")
    assert side_by_side(near, [("a", "a")], 128).solution == near.solution


def test_earlier_pairs_keep_their_places() -> None:
    c = Buffer("c", 64, 3, 4)
    given = arena(A, B, BETWEEN, c, offsets={"a": 0, "between": 64, "b": 168, "c": 232})
    found = side_by_side(given, [("a", "b"), ("b", "c"), ("a", "c")], 1000)
    found.check()
    assert are_neighbours(found, "a", "b")
    assert are_neighbours(found, "b", "c")


def test_random_arenas() -> None:
    moved = 0
    for seed in range(60):
        draw = random.Random(seed)
        lives = [sorted((draw.randrange(12), draw.randrange(12))) for _ in range(14)]
        buffers = tuple(Buffer(f"b{i}", draw.randrange(0, 300), *life) for i, life in enumerate(lives))
        given = solved(Problem(buffers, 8), 0)
        pairs = [(f"b{draw.randrange(14)}", f"b{draw.randrange(14)}") for _ in range(4)]
        capacity = given.peak + draw.randrange(600)
        found = side_by_side(given, pairs, capacity)
        found.check()
        assert found.peak <= capacity
        moved += found.solution.offsets != given.solution.offsets
    assert moved > 20

"""Buffers that move within the arena until each thread finds its own lines there."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.memory.allocator import Buffer, Problem, Solution, solve
from tilewright.memory.validate import check_placement
from tilewright.planner.arena.thread_lines import LINE, with_own_lines

pytestmark = pytest.mark.fast


def halves(problem: Problem) -> dict:
    return {
        one.name: [(0, one.bytes // 2), (one.bytes // 2, one.bytes)] for one in problem.buffers if one.bytes >= 2 * LINE
    }


def crossing(problem: Problem, solution: Solution) -> int:
    """Lines that a thread writes and another one had, in the second of two calls: line by line."""
    had: dict[int, int] = {}
    for _ in range(2):
        found = 0
        for buffer in sorted(problem.buffers, key=lambda one: one.first):
            first = solution.offsets[buffer.name] // LINE
            for line in range(-(-buffer.bytes // LINE)):
                thread = int(line * LINE >= buffer.bytes // 2)
                found += had.get(first + line, thread) != thread
                had[first + line] = thread
    return found


def test_a_chain_of_layers_has_all_boundaries_in_one_place() -> None:
    sizes = [64, 32, 30, 24, 28, 16, 20, 8]
    buffers = [Buffer(f"b{n}", size * 2 * LINE, n, n + 1) for n, size in enumerate(sizes)]
    problem = Problem(tuple(buffers), LINE)
    first = solve(problem)
    found = with_own_lines(problem, first, halves(problem), 0)
    check_placement(problem, found)
    assert found.peak == first.peak
    assert crossing(problem, found) < crossing(problem, first) // 2


@pytest.mark.parametrize("seed", range(20))
def test_random_buffers_stay_apart_and_never_cross_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    buffers = []
    for number in range(30):
        first = int(rng.integers(0, 25))
        buffers.append(Buffer(f"b{number}", int(rng.integers(1, 9000)), first, first + int(rng.integers(0, 4))))
    kept = [Buffer(f"kept{n}", 640, 0, 30) for n in range(2)]
    alignment = int(rng.choice([16, 64]))
    problem = Problem((*kept, *buffers), alignment)
    first = solve(problem)
    found = with_own_lines(problem, first, halves(problem), len(kept))
    check_placement(problem, found)
    assert found.peak == first.peak
    assert all(found.offsets[one.name] == first.offsets[one.name] for one in kept)
    assert set(found.offsets) == set(first.offsets)
    if alignment == LINE:
        assert crossing(problem, found) <= crossing(problem, first) + 2 * len(buffers)

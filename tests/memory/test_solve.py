"""The planner: placements are valid, near the bound, the same each time, and refused when they do not fit."""

from __future__ import annotations

import itertools
from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.instances import one_after_the_other, random_problem, residual_network, zero_waste
from tests.support.examples import examples
from tilewright.errors import CompileError, InternalError
from tilewright.memory.allocator import Buffer, Problem, Solution, solve
from tilewright.memory.packing import RULES, Box, Search
from tilewright.memory.validate import check_placement

QUICK = 0.2
"""A time limit that keeps the search short."""


@st.composite
def problems(draw: st.DrawFn, most: int = 25, size: int = 500) -> Problem:
    count = draw(st.integers(0, most))
    births = [draw(st.integers(-3, 12)) for _ in range(count)]
    buffers = (
        Buffer(f"b{index}", draw(st.integers(0, size)), birth, birth + draw(st.integers(0, 6)))
        for index, birth in enumerate(births)
    )
    return Problem(tuple(buffers), draw(st.sampled_from([1, 4, 16])))


def most_live(problem: Problem) -> int:
    """The bound by its definition."""
    steps = {buffer.first for buffer in problem.buffers}
    return max((sum(rounded(problem, b) for b in problem.buffers if b.first <= s <= b.last) for s in steps), default=0)


def rounded(problem: Problem, buffer: Buffer) -> int:
    return -(-buffer.bytes // problem.alignment) * problem.alignment


def best_peak(problem: Problem) -> int:
    """The optimum, by dropping buffers to their lowest place in each possible order."""
    return min(dropped_peak(problem, order) for order in itertools.permutations(problem.buffers))


def dropped_peak(problem: Problem, order: tuple[Buffer, ...]) -> int:
    tops: dict[str, int] = {}
    for one in order:
        below = [tops[b.name] for b in order if b.name in tops and b.first <= one.last and one.first <= b.last]
        tops[one.name] = max(below, default=0) + rounded(problem, one)
    return max(tops.values(), default=0)


@pytest.mark.in_turns(3)
@examples(150)
@given(problems())
def test_placements_are_valid_and_not_below_the_bound(problem: Problem) -> None:
    solution = solve(problem, QUICK)
    check_placement(problem, solution)
    assert solution.peak >= solution.lower_bound >= most_live(problem)
    assert set(solution.offsets) == {buffer.name for buffer in problem.buffers}


@examples(60)
@given(problems(most=6, size=8))
def test_small_problems_are_solved_to_the_optimum(problem: Problem) -> None:
    problem = Problem(tuple(buffer for buffer in problem.buffers if buffer.bytes), problem.alignment)
    solution = solve(problem, QUICK)
    assert solution.peak == solution.lower_bound == best_peak(problem)


@pytest.mark.parametrize("seed", range(12))
def test_zero_waste_is_found(seed: int) -> None:
    problem = zero_waste(seed, buffers=40, steps=20, units=256)
    solution = solve(problem, QUICK)
    check_placement(problem, solution)
    assert (solution.peak, solution.lower_bound, solution.gap) == (256 * 16, 256 * 16, 0.0)


@cache
def solution_of_many(limit: float) -> Solution:
    return solve(zero_waste(3, buffers=90, steps=40, units=1024), limit)


@pytest.mark.parametrize("limit", [0.0, QUICK])
def test_the_same_problem_has_the_same_solution(limit: float) -> None:
    assert solve(zero_waste(3, buffers=90, steps=40, units=1024), limit) == solution_of_many(limit)


def test_more_time_is_never_worse() -> None:
    first_fit, searched = solution_of_many(0.0), solution_of_many(QUICK)
    assert searched.peak < first_fit.peak
    assert first_fit.lower_bound <= searched.lower_bound


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("seed", range(4))
def test_zero_waste_of_many_is_found(seed: int) -> None:
    problem = zero_waste(seed, buffers=80, steps=40, units=4096)
    solution = solve(problem)
    check_placement(problem, solution)
    assert (solution.peak, solution.gap, solution.method) == (4096 * 16, 0.0, "search")


@pytest.mark.in_turns(5)
def test_what_never_lives_together_is_searched_apart() -> None:
    """An order that suits all of them at once is not found in this time."""
    alone = [zero_waste(seed, buffers=70, steps=35, units=4096) for seed in range(30)]
    found = [one for one in alone if solve(one, QUICK / 4).gap == 0.0]
    assert len(found) >= 8
    problem = one_after_the_other(found[:8])
    solution = solve(problem, QUICK)
    check_placement(problem, solution)
    assert solution.gap == 0.0


def test_easy_problems_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("tilewright.memory.allocator.improve")
    solution = solve(residual_network(16))
    assert (solution.gap, solution.method) == (0.0, "heuristic")


def test_very_large_problems_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.memory.allocator.SEARCH_PAIRS", 100)
    problem = random_problem(0, buffers=300, steps=100, lifetime=60, size=5000)
    solution = solve(problem, 0.1)
    check_placement(problem, solution)
    assert solution.method.endswith("pairs are too many for a search)")
    assert solution.gap > 0


def test_empty_buffers_take_no_place() -> None:
    problem = Problem((Buffer("full", 10, 0, 3), Buffer("empty", 0, 1, 2)))
    solution = solve(problem)
    check_placement(problem, solution)
    assert (solution.offsets, solution.peak) == ({"full": 0, "empty": 0}, 16)


def test_nothing_needs_nothing() -> None:
    solution = solve(Problem((), capacity=0))
    assert (solution.offsets, solution.peak, solution.gap) == ({}, 0, 0.0)


SHAPES = [(2, 0, 1), (3, 0, 4), (2, 0, 7), (1, 2, 2), (1, 2, 6), (1, 3, 5), (2, 5, 6), (1, 5, 5), (2, 6, 7), (3, 7, 7)]
UNREACHABLE = Problem(tuple(Buffer(f"b{index}", *shape) for index, shape in enumerate(SHAPES)), alignment=1)
"""At most 7 bytes are alive at once, and yet no placement does with fewer than 8."""


def test_a_bound_that_cannot_be_reached_is_raised() -> None:
    solution = solve(UNREACHABLE)
    check_placement(UNREACHABLE, solution)
    assert most_live(UNREACHABLE) == 7
    assert (solution.peak, solution.lower_bound, solution.method) == (8, 8, "search")


def as_boxes(problem: Problem) -> tuple[list[Box], int]:
    start = min((buffer.first for buffer in problem.buffers), default=0)
    boxes = [Box(buffer.first - start, buffer.last - start, rounded(problem, buffer)) for buffer in problem.buffers]
    return boxes, max((box.last + 1 for box in boxes), default=0)


@examples(100)
@given(problems(most=6, size=8), st.integers(0, RULES - 1), st.randoms())
def test_a_search_finds_what_there_is_and_proves_what_there_is_not(problem: Problem, rule: int, chance: Random) -> None:
    problem = Problem(tuple(buffer for buffer in problem.buffers if buffer.bytes), 1)
    boxes, columns = as_boxes(problem)
    order = list(range(len(boxes)))
    chance.shuffle(order)
    least = best_peak(problem)
    for ceiling in range(max(least - 2, 0), least + 2):
        outcome = Search(boxes, columns).run(ceiling, rule, order, 1_000_000, [0.0] * columns)
        assert (outcome.offsets is not None, outcome.impossible) == (ceiling >= least, ceiling < least)
        if outcome.offsets is not None:
            offsets = {buffer.name: offset for buffer, offset in zip(problem.buffers, outcome.offsets, strict=True)}
            check_placement(problem, Solution(offsets, ceiling, least, "search"))


@pytest.mark.parametrize("rule", range(RULES))
def test_a_search_that_runs_dry_proves_the_ceiling_too_low(rule: int) -> None:
    boxes, columns = as_boxes(UNREACHABLE)
    failures = [0.0] * columns
    low, high = (Search(boxes, columns).run(most, rule, range(len(boxes)), 10_000, failures) for most in (7, 8))
    assert (low.offsets, low.impossible) == (None, True)
    assert high.offsets is not None
    assert any(failures)


def test_a_search_gives_up_after_its_work() -> None:
    boxes, columns = as_boxes(zero_waste(3, buffers=90, steps=40, units=1024))
    outcome = Search(boxes, columns).run(1024 * 16, 0, range(len(boxes)), 20_000, [0.0] * columns)
    assert (outcome.offsets, outcome.impossible) == (None, False)
    assert 20_000 <= outcome.work < 60_000


def test_a_capacity_that_is_hard_to_meet_is_met() -> None:
    """First-fit is a fifth above it, and the bound cannot be reached."""
    problem = zero_waste(7, buffers=120, steps=60, units=2048)
    loose = Problem(problem.buffers, capacity=2048 * 16)
    assert solve(problem, 0).peak > 1.1 * 2048 * 16
    solution = solve(loose)
    check_placement(loose, solution)
    assert solution.peak <= 2048 * 16


def test_too_little_memory_for_any_placement() -> None:
    problem = Problem((Buffer("a", 100, 0, 1), Buffer("b", 50, 1, 2), Buffer("c", 10, 2, 2)), capacity=128)
    with pytest.raises(CompileError) as error:
        solve(problem)
    assert str(error.value) == (
        "memory: needs 176 bytes, 128 available; "
        "the largest moment is step 1 with buffers 'a' (100 bytes), 'b' (50 bytes)\n"
        "  hint: every placement needs at least 176 bytes: "
        "make the tensors of that step smaller, or choose a target with more memory"
    )


def test_too_little_memory_for_the_placement_found() -> None:
    problem = zero_waste(3, buffers=90, steps=40, units=1024)
    with pytest.raises(
        CompileError, match=r"available; the largest moment is step \d+ with buffers .* and \d+ more"
    ) as e:
        solve(Problem(problem.buffers, capacity=1024 * 16), 0)
    assert e.value.hint.startswith("at least 16384 bytes are needed, but no placement with so few was found: make")


def test_capacity_that_is_just_enough() -> None:
    problem = zero_waste(1, buffers=30, steps=15, units=128)
    assert solve(Problem(problem.buffers, capacity=128 * 16)).peak == 128 * 16


@pytest.mark.parametrize(
    ("buffers", "alignment", "text"),
    [
        ((Buffer("a", 1, 0, 0), Buffer("a", 2, 1, 1)), 16, "same name"),
        ((Buffer("a", -1, 0, 0),), 16, "negative"),
        ((Buffer("a", 1, 1, 0),), 16, "negative"),
        ((), 0, "alignment of 0 bytes"),
    ],
)
def test_impossible_problems_are_not_made(buffers: tuple[Buffer, ...], alignment: int, text: str) -> None:
    with pytest.raises(InternalError, match=text):
        Problem(buffers, alignment)

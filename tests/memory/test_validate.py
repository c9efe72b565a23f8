"""The validator finds each way in which a placement can be wrong, and says so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.instances import zero_waste
from tests.support.examples import examples
from tilewright.errors import InternalError
from tilewright.memory.allocator import Buffer, Problem, Solution, solve
from tilewright.memory.validate import check_placement

pytestmark = pytest.mark.fast

PROBLEM = Problem((Buffer("a", 32, 0, 4), Buffer("b", 20, 2, 6), Buffer("c", 32, 5, 8)), alignment=16, capacity=96)
GOOD = Solution({"a": 0, "b": 32, "c": 0}, peak=64, lower_bound=64, method="heuristic")


def complaint(problem: Problem, solution: Solution) -> str:
    with pytest.raises(InternalError) as error:
        check_placement(problem, solution)
    assert error.value.where == "memory plan"
    return error.value.what


def test_a_good_placement_passes() -> None:
    check_placement(PROBLEM, GOOD)


@pytest.mark.parametrize(
    ("offsets", "text"),
    [
        ({"a": 0, "b": 16}, "'a' (bytes 0 to 32, steps 0 to 4) and 'b' (bytes 16 to 36, steps 2 to 6) overlap"),
        ({"a": 0, "b": 0}, "'a' (bytes 0 to 32, steps 0 to 4) and 'b' (bytes 0 to 20, steps 2 to 6) overlap"),
        ({"b": 40}, "'b' (bytes 40 to 60, steps 2 to 6) is not aligned to 16 bytes"),
        ({"b": -32}, "'b' (bytes -32 to -12, steps 2 to 6) starts below 0"),
        ({"b": 48}, "'b' (bytes 48 to 68, steps 2 to 6) ends beyond the peak of 64 bytes"),
    ],
)
def test_a_bad_offset_is_named(offsets: dict[str, int], text: str) -> None:
    assert complaint(PROBLEM, replace(GOOD, offsets={**GOOD.offsets, **offsets})) == text


def test_a_missing_buffer_is_named() -> None:
    assert complaint(PROBLEM, replace(GOOD, offsets={"a": 0, "b": 32})) == "buffer 'c' has no offset"


def test_a_buffer_beyond_the_capacity_is_named() -> None:
    text = "'b' (bytes 96 to 116, steps 2 to 6) ends beyond the capacity of 96 bytes"
    assert complaint(PROBLEM, replace(GOOD, offsets={"a": 0, "b": 96, "c": 0}, peak=128)) == text


def test_lifetimes_include_both_ends() -> None:
    problem = Problem((Buffer("a", 16, 0, 1), Buffer("b", 16, 1, 2)))
    assert complaint(problem, Solution({"a": 0, "b": 0}, 16, 16, "")).endswith("overlap")
    apart = Problem((Buffer("a", 16, 0, 1), Buffer("b", 16, 2, 2)))
    check_placement(apart, Solution({"a": 0, "b": 0}, 16, 16, ""))


def test_empty_buffers_never_conflict() -> None:
    problem = Problem((Buffer("a", 16, 0, 1), Buffer("empty", 0, 0, 1), Buffer("nothing", 0, 0, 1)))
    check_placement(problem, Solution({"a": 0, "empty": 0, "nothing": 0}, 16, 16, ""))


@examples(100)
@given(st.data())
def test_the_sweep_agrees_with_all_pairs(data: st.DataObject) -> None:
    buffers, offsets = [], {}
    for index in range(data.draw(st.integers(0, 8))):
        first, size = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 3))
        buffers.append(Buffer(f"b{index}", size, first, first + data.draw(st.integers(0, 3))))
        offsets[f"b{index}"] = data.draw(st.integers(0, 12))
    problem, solution = Problem(tuple(buffers), alignment=1), Solution(offsets, 15, 0, "")
    if any(clash(offsets, one, other) for one in buffers for other in buffers if one.name < other.name):
        assert complaint(problem, solution).endswith("overlap")
    else:
        check_placement(problem, solution)


def clash(offsets: dict[str, int], one: Buffer, other: Buffer) -> bool:
    steps = set(range(one.first, one.last + 1)) & set(range(other.first, other.last + 1))
    taken = [set(range(offsets[b.name], offsets[b.name] + b.bytes)) for b in (one, other)]
    return bool(steps and taken[0] & taken[1])


@pytest.mark.parametrize("seed", range(5))
def test_no_buffer_of_a_full_memory_can_move(seed: int) -> None:
    problem = zero_waste(seed, buffers=30, steps=15, units=128)
    solution = solve(problem)
    for name, offset in solution.offsets.items():
        moved = replace(solution, offsets={**solution.offsets, name: offset + 16}, peak=solution.peak + 16)
        if offset + 16 + size_of(problem, name) <= solution.peak:
            assert complaint(problem, moved).endswith("overlap")


def size_of(problem: Problem, name: str) -> int:
    return next(buffer.bytes for buffer in problem.buffers if buffer.name == name)

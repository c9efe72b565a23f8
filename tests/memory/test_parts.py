"""Plans over several memories: every buffer in one of them, whole, and the validator that would notice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tilewright.errors import InternalError
from tilewright.memory.allocator import Buffer, Problem
from tilewright.memory.parts import Parts, check_parts, solve_in_parts

pytestmark = pytest.mark.fast


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    spans = draw(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(0, 300)), min_size=1, max_size=14)
    )
    return Problem(tuple(Buffer(f"b{i}", size, at, at + more) for i, (at, more, size) in enumerate(spans)), 16)


@pytest.mark.in_turns(3)
@examples(100)
@given(problems(), st.lists(st.integers(0, 700), min_size=2, max_size=3), st.integers(0, 2))
def test_what_is_found_holds(problem: Problem, capacities: list[int], count: int) -> None:
    kept = tuple(replace(buffer, first=0, last=20) for buffer in problem.buffers[:count])
    problem = replace(problem, buffers=(*kept, *problem.buffers[count:]))
    found = solve_in_parts(problem, kept, capacities)
    if found is not None:
        check_parts(problem, found, capacities)
        assert [found.solution.offsets[buffer.name] for buffer in kept[:1]] == [0] * len(kept[:1])


def test_two_that_do_not_fit_together() -> None:
    problem = Problem((Buffer("a", 96, 0, 1), Buffer("b", 64, 1, 2), Buffer("c", 32, 2, 3)), 16)
    assert solve_in_parts(problem, (), [112, 48]) is None
    found = solve_in_parts(problem, (), [112, 64])
    assert found is not None
    assert found.sizes == (96, 64)


def test_it_would_be_noticed() -> None:
    problem = Problem((Buffer("a", 96, 0, 1), Buffer("b", 64, 1, 2)), 16)
    found = solve_in_parts(problem, (), [96, 64])
    assert found is not None
    astride = Parts(replace(found.solution, offsets={"a": 64, "b": 0}), found.sizes)
    with pytest.raises(InternalError, match="'a' lies in two memories"):
        check_parts(problem, astride, [96, 64])
    with pytest.raises(InternalError, match="96 bytes in a memory with room for 80"):
        check_parts(problem, found, [80, 64])

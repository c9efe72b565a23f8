"""The choice of tiling options over a network: as good as trying everything, and within the memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tilewright.planner.cluster.select import (
    UNIT,
    Alternative,
    HomePressure,
    Problem,
    Solution,
    Tensor,
    choose,
    modelled,
)

pytestmark = pytest.mark.fast


def rounded(size: int) -> int:
    return -(-size // UNIT) * UNIT


def used(problem: Problem, chosen: tuple[Alternative, ...], l1: frozenset[str], step: int) -> int:
    """Bytes in use during a step, from the definitions."""
    total = rounded(chosen[step].bytes)
    total += sum(rounded(t.bytes) for t in problem.tensors if t.name in l1 and t.first <= step <= t.last)
    later = enumerate(chosen[step + 1 :], step + 1)
    return total + sum(
        rounded(alternative.before) for number, alternative in later if number - alternative.ahead <= step
    )


def in_l1_of(problem: Problem, chosen: tuple[Alternative, ...]) -> frozenset[str] | None:
    """The tensors that the options want in L1; None where two options disagree."""
    l1 = frozenset(name for alternative in chosen for name in alternative.inside)
    agree = all(
        l1 & movable == alternative.inside for alternative, movable in zip(chosen, problem.movable, strict=True)
    )
    return l1 if agree else None


def feasible(problem: Problem) -> Iterator[tuple[int, ...]]:
    for positions in itertools.product(*(range(len(alternatives)) for alternatives in problem.layers)):
        chosen = tuple(alternatives[i] for alternatives, i in zip(problem.layers, positions, strict=True))
        l1 = in_l1_of(problem, chosen)
        capacity = problem.capacity // UNIT * UNIT
        constants = sum(rounded(alternative.constants) for alternative in chosen) <= problem.constants // UNIT * UNIT
        kept = sum(rounded(alternative.kept) for alternative in chosen) <= problem.kept // UNIT * UNIT
        fits = l1 is not None and all(used(problem, chosen, l1, step) <= capacity for step in range(len(chosen)))
        if fits and constants and kept:
            yield positions


def cycles(problem: Problem, positions: tuple[int, ...]) -> int:
    return sum(alternatives[i].cycles for alternatives, i in zip(problem.layers, positions, strict=True))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    steps = draw(st.integers(1, 4))
    tensors = []
    for number in range(draw(st.integers(0, 3))):
        first = draw(st.integers(0, steps - 1))
        tensors.append(Tensor(f"t{number}", draw(st.integers(1, 60)), first, draw(st.integers(first, steps - 1))))
    movable = tuple(frozenset(t.name for t in tensors if step in (t.first, t.last)) for step in range(steps))
    layers = tuple(
        tuple(draw(st.lists(alternatives(names, step), min_size=1, max_size=4))) for step, names in enumerate(movable)
    )
    budgets = (draw(st.integers(0, 120)) for _ in range(3))
    return Problem(layers, movable, tuple(tensors), *budgets)


@st.composite
def alternatives(draw: st.DrawFn, movable: frozenset[str], step: int) -> Alternative:
    size = draw(st.integers(0, 80))
    ahead = draw(st.integers(0, min(step, 7)))
    l1 = frozenset(name for name in movable if draw(st.booleans()))
    before = draw(st.integers(0, size)) if ahead else 0
    constants, kept = (draw(st.sampled_from([0, 0, 8, 30, 50])) for _ in range(2))
    return Alternative(draw(st.integers(0, 100)), size, before, ahead, l1, constants, kept)


@pytest.mark.in_turns(3)
@examples(60)
@given(problem=problems())
def test_as_good_as_trying_everything(problem: Problem) -> None:
    found = choose(problem)
    best = min((cycles(problem, positions) for positions in feasible(problem)), default=None)
    if best is None:
        assert found is None
        return
    assert found is not None
    assert found.alternatives in set(feasible(problem))
    assert found.cycles == found.bound == cycles(problem, found.alternatives) == best
    chosen = tuple(alternatives[i] for alternatives, i in zip(problem.layers, found.alternatives, strict=True))
    spoken = frozenset().union(*problem.movable)
    assert found.inside & spoken == in_l1_of(problem, chosen)


@examples(30)
@given(problem=problems())
def test_too_little_work_finds_something_where_anything_fits(problem: Problem) -> None:
    found, possible = choose(problem, 0.0), set(feasible(problem))
    assert found.alternatives in possible if found else not possible


def test_nothing_fits() -> None:
    assert choose(Problem(((Alternative(1, 100, 0, 0, frozenset()),),), (frozenset(),), (), 96)) is None


def test_a_tensor_that_stays_in_l1_takes_its_bytes_all_the_time() -> None:
    """Keeping it saves 20 cycles, and leaves the layer in the middle only the slow option."""
    stay, go = Alternative(10, 8, 0, 0, frozenset("t")), Alternative(20, 8, 0, 0, frozenset())
    large, small = Alternative(5, 80, 0, 0, frozenset()), Alternative(50, 8, 0, 0, frozenset())
    layers = ((go, stay), (large, small), (go, stay))
    problem = Problem(layers, (frozenset("t"), frozenset(), frozenset("t")), (Tensor("t", 64, 0, 2),), 96)
    assert choose(problem) == Solution((0, 0, 0), frozenset(), 45, 45)


def test_the_gap() -> None:
    assert Solution((), frozenset(), 110, 100).gap == pytest.approx(0.1)
    assert Solution((), frozenset(), 0, 0).gap == 0.0


class Walked(frozenset[str]):
    """A set that is walked through in a given order."""

    order: Sequence[str]

    def __iter__(self) -> Iterator[str]:
        return iter(self.order)


def walked(order: Sequence[str]) -> Walked:
    made = Walked(order)
    made.order = order
    return made


def test_the_order_that_sets_are_walked_in_does_not_matter() -> None:
    names = ["a", "b", "c"]
    layer = tuple(Alternative(9 - len(l1), 0, 0, 0, frozenset(l1)) for l1 in ("", "a", "bc", "abc"))
    tensors = tuple(Tensor(name, 16, 0, 1) for name in names)
    forwards, backwards = (
        Problem(
            (layer,) * 2, (walked(order),) * 2, tensors, 40,
            pressure=HomePressure((walked(order),) * 2, (40, 40), {"WMEM": 40}, 40),
        )
        for order in (names, names[::-1])
    )  # fmt: skip
    assert modelled(forwards).model.message == modelled(backwards).model.message

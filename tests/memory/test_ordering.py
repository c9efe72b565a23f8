"""The order of execution: always possible, never worse than the given one, better where that can be shown by hand."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tilewright.memory.ordering import Task, order, peak_live

pytestmark = pytest.mark.fast

Net = tuple[list[Task], dict[str, int], frozenset[str]]


@st.composite
def nets(draw: st.DrawFn, most: int) -> Net:
    """Tasks that write a new tensor, or sometimes an old one once more; some tensors are there from the start."""
    tasks: list[Task] = []
    names = ["in0", "in1"]
    for index in range(draw(st.integers(0, most))):
        reads = draw(st.lists(st.sampled_from(names), max_size=3))
        again = draw(st.integers(0, 5)) == 0
        written = draw(st.sampled_from(names)) if again else f"t{index}"
        tasks.append(Task(tuple(reads), (written,)))
        names += [] if again else [written]
    sizes = {name: draw(st.integers(0, 20)) for name in names if draw(st.integers(0, 4))}
    return tasks, sizes, frozenset(draw(st.lists(st.sampled_from(names), max_size=2)))


def is_possible(found: tuple[int, ...], tasks: list[Task]) -> bool:
    """Each task finds every tensor as written by the same task as in the given order, and not overwritten too soon."""
    return sorted(found) == list(range(len(tasks))) and history(found, tasks) == history(range(len(tasks)), tasks)


def history(found: range | tuple[int, ...], tasks: list[Task]) -> list[tuple[str, list[tuple[str, set[int]]]]]:
    """For each tensor the writes in their order, and between them the sets of readers."""
    events: dict[str, list[tuple[str, set[int]]]] = {}
    for index in found:
        for name in set(tasks[index].reads) - set(tasks[index].writes):
            past = events.setdefault(name, [])
            if past and past[-1][0] == "read":
                past[-1][1].add(index)
            else:
                past.append(("read", {index}))
        for name in set(tasks[index].writes):
            events.setdefault(name, []).append(("write", {index}))
    return sorted(events.items())


@pytest.mark.in_turns(5)
@examples(60)
@given(nets(most=20))
def test_orders_are_possible_and_never_worse(net: Net) -> None:
    tasks, sizes, keep = net
    found = order(tasks, sizes, keep)
    given_peak = peak_live(range(len(tasks)), tasks, sizes, keep)
    assert is_possible(found, tasks)
    assert peak_live(found, tasks, sizes, keep) <= given_peak
    assert peak_live(found, tasks, sizes, keep) < given_peak or found == tuple(range(len(tasks)))
    assert found == order(tasks, sizes, keep)


@pytest.mark.in_turns(3)
@examples(80)
@given(nets(most=6))
def test_small_nets_are_ordered_to_the_optimum(net: Net) -> None:
    tasks, sizes, keep = net
    possible = [o for o in itertools.permutations(range(len(tasks))) if is_possible(o, tasks)]
    best = min(peak_live(o, tasks, sizes, keep) for o in possible)
    assert peak_live(order(tasks, sizes, keep), tasks, sizes, keep) == best


def test_two_branches_are_finished_one_after_the_other() -> None:
    tasks = [
        Task((), ("x",)),
        Task(("x",), ("wide1",)),
        Task(("x",), ("wide2",)),
        Task(("wide1",), ("narrow1",)),
        Task(("wide2",), ("narrow2",)),
        Task(("narrow1", "narrow2"), ("y",)),
    ]
    sizes = {"x": 10, "wide1": 100, "wide2": 100, "narrow1": 5, "narrow2": 5, "y": 10}
    found = order(tasks, sizes)
    assert peak_live(range(6), tasks, sizes) == 10 + 100 + 100
    assert peak_live(found, tasks, sizes) == 10 + 100 + 5
    assert is_possible(found, tasks)


def test_the_large_arm_of_a_diamond_goes_first() -> None:
    tasks = [
        Task(("input",), ("x",)),
        Task(("x",), ("small",)),
        Task(("x",), ("large",)),
        Task(("large",), ("shrunk",)),
        Task(("small", "shrunk"), ("y",)),
    ]
    sizes = {"x": 10, "small": 40, "large": 100, "shrunk": 1, "y": 10}
    assert peak_live(range(5), tasks, sizes) == 10 + 40 + 100
    assert order(tasks, sizes) == (0, 2, 3, 1, 4)
    assert peak_live((0, 2, 3, 1, 4), tasks, sizes) == 10 + 100 + 1


def test_the_shortcut_of_a_residual_is_computed_last() -> None:
    tasks = [
        Task(("input",), ("x",)),
        Task(("x",), ("shortcut",)),
        Task(("x",), ("a",)),
        Task(("a",), ("b",)),
        Task(("b", "shortcut"), ("y",)),
    ]
    sizes = {"x": 8, "shortcut": 32, "a": 32, "b": 16, "y": 16}
    assert peak_live(range(5), tasks, sizes) == 32 + 32 + 16
    assert peak_live(order(tasks, sizes), tasks, sizes) == 32 + 16 + 16
    assert order(tasks, sizes) == (0, 2, 3, 1, 4)


def test_an_order_that_is_as_good_stays() -> None:
    tasks = [Task((), ("a",)), Task((), ("b",)), Task(("a", "b"), ("c",))]
    assert order(tasks, {"a": 1, "b": 1, "c": 1}) == (0, 1, 2)


def test_a_long_chain_stays() -> None:
    tasks = [Task((f"t{i}",), (f"t{i + 1}",)) for i in range(1000)]
    sizes = {f"t{i}": 1 + i * 37 % 101 for i in range(1001)}
    assert order(tasks, sizes) == tuple(range(1000))


def test_attention_heads_are_finished_one_after_the_other() -> None:
    heads = range(30)
    tasks = [Task(("x",), (f"scores{h}",)) for h in heads] + [Task((f"scores{h}",), (f"out{h}",)) for h in heads]
    tasks.append(Task(tuple(f"out{h}" for h in heads), ("y",)))
    sizes = {f"scores{h}": 100 for h in heads} | {f"out{h}": 1 for h in heads}
    found = order(tasks, sizes)
    assert peak_live(range(len(tasks)), tasks, sizes) == 30 * 100 + 1
    assert is_possible(found, tasks)
    assert peak_live(found, tasks, sizes) == 29 + 100 + 1


def test_what_counts_as_live() -> None:
    tasks = [Task(("given", "weights"), ("a",)), Task((), ("unread",)), Task(("a",), ("b",))]
    sizes = {"given": 1, "a": 10, "unread": 100, "b": 1000, "absent": 5}
    assert peak_live((0,), tasks[:1], sizes) == 11  # weights are free, what is read only lives from the start
    assert peak_live((0, 1, 2), tasks, sizes) == 1010
    assert peak_live((0, 1, 2), tasks, sizes, frozenset({"given", "unread"})) == 1111
    assert peak_live((), [], sizes) == 0


def test_a_tensor_that_is_overwritten_in_place_counts_once() -> None:
    tasks = [Task((), ("x",)), Task(("x",), ("x",)), Task(("x",), ("y",))]
    assert peak_live((0, 1, 2), tasks, {"x": 10, "y": 1}) == 11
    assert order(tasks, {"x": 10, "y": 1}) == (0, 1, 2)

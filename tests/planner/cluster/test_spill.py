"""What is known of a network that no memories can hold, before a solver looks for a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.passes.small import Small
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.graph import Graph
from tilewright.ops.max import Max
from tilewright.ops.transpose import Transpose
from tilewright.planner.cluster import planning, select
from tilewright.planner.cluster.solve import Decision, Task, decide
from tilewright.planner.cluster.spill import never_fits, overfull
from tilewright.target.settings import Settings

QUICK = Settings(time_limit=1.0)


def turned(rows: int) -> Graph:
    """Three tensors of 1,024 bytes for each row, two of them activations that are needed at once."""
    small = Small()
    x = small.input("x", rows, 1024)
    first = small.add(Transpose((1, 0)), x)
    second = small.add(Transpose((1, 0)), first)
    return small.graph(small.add(Max(), small.add(Transpose((1, 0)), second), first))


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Everything that a solver is asked for."""
    found: list[Task] = []

    def noted(task: Task) -> Decision:
        found.append(task)
        return decide(task)

    monkeypatch.setattr(planning, "decide", noted)
    return found


def planned(graph: Graph) -> None:
    pipeline.stage(graph, "mempool", "tiled", settings=QUICK)


@pytest.mark.in_turns(6)
def test_no_work_is_spent_on_what_never_fits(decided: list[Task]) -> None:
    with pytest.raises(CompileError, match=r"at least \d+ bytes are needed for its activations.*, 729088 are left by"):
        planned(turned(1500))
    assert {one.settings.time_limit for one in decided} == {planning.HURRIED}
    assert never_fits(decided[0])


def test_what_fits_has_all_of_it(decided: list[Task]) -> None:
    planned(turned(32))
    task = decided[0]
    assert task.settings.time_limit == QUICK.time_limit
    assert not never_fits(task)


def test_each_memory_that_may_have_activations_counts(decided: list[Task]) -> None:
    """To the byte: with one less, nothing is left that could hold them."""
    planned(turned(32))
    task = decided[0]
    steps = len(task.found)
    most = max(
        sum(tensor.bytes for tensor in task.tensors if tensor.first <= step <= tensor.last) for step in range(steps)
    )
    nothing_movable = replace(
        task, found=[replace(one, layer=replace(one.layer, movable=frozenset())) for one in task.found]
    )
    spillable = frozenset(tensor.name for tensor in task.tensors)
    for l2, one, other, l3 in ((most, 0, 0, 0), (0, most, 0, 0), (0, 0, most, 0), (0, 0, 0, most)):
        exact = select.HomePressure((spillable,) * steps, (l2,) * steps, {"one": one, "other": other}, l3)
        assert not overfull(nothing_movable, exact)
        beside = {name: max(size - 1, 0) for name, size in exact.beside.items()}
        less = replace(exact, budgets=(max(l2 - 1, 0),) * steps, beside=beside, behind=max(l3 - 1, 0))
        assert overfull(nothing_movable, less)
    assert not overfull(task, select.HomePressure((frozenset(),) * steps, (0,) * steps, {}, 0))
    assert overfull(nothing_movable, select.HomePressure((frozenset(),) * steps, (0,) * steps, {}, most))

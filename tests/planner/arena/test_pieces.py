"""Tensors inside others: rows that are read where they are, and operands that are made where a Concat has them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.cpu.machine import run_graph
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.concat import Concat
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.neg import Neg
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice
from tilewright.ops.sub import Sub
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.processors import NATIVE

KIND = TensorType("float32", (6, 8))
FEEDS = {"x": np.linspace(-3, 5, 48, dtype=np.float32).reshape(6, 8)}


def rows(start: int, count: int) -> Slice:
    return Slice((start, 0), (1, 1), (count, 8))


def in_rows(axis: int = 0) -> Graph:
    """Parts of a tensor, joined again along an axis, of which others read some rows."""
    builder = Builder("pieces")
    (y,) = builder.add(Relu(), [builder.input("x", KIND)])
    weights = builder.constant(np.eye(8, dtype=np.float32)[::-1].copy())
    parts = [builder.add(MatMul(), [builder.add(rows(start, 3), [y])[0], weights])[0] for start in (0, 3)]
    (joined,) = builder.add(Concat(axis), parts)
    wide = builder.types[joined].shape
    (some,) = builder.add(Slice((1, 0), (1, 1), (2, wide[1])), [joined])
    builder.output(builder.add(Neg(), [some])[0])
    builder.output(builder.add(Neg(), [joined])[0])
    return builder.build()


def scheduled(graph: Graph, target: str = "cpu") -> Schedule:
    schedule: Schedule = pipeline.stage(graph, target, "schedule")
    expected, found = evaluate(graph, FEEDS), interpret(schedule, FEEDS)
    for old, new in zip(graph.outputs, schedule.graph.outputs, strict=True):
        np.testing.assert_array_equal(found[new], expected[old])
    return schedule


def kinds(schedule: Schedule) -> list[str]:
    return [call.node.op.kind for call in schedule.layers]


@pytest.mark.in_turns(3)
@pytest.mark.fast
def test_nothing_is_copied() -> None:
    assert not {"Slice", "Concat"} & set(kinds(scheduled(in_rows())))


@pytest.mark.fast
def test_what_does_not_lie_side_by_side_is_copied() -> None:
    assert "Concat" in kinds(scheduled(in_rows(axis=1)))


def test_other_targets_copy() -> None:
    assert {"Slice", "Concat"} <= set(kinds(scheduled(in_rows(), "generic")))


@pytest.mark.fast
def test_no_result_takes_the_place_of_rows_that_others_still_read() -> None:
    """A function of the first rows would fit there; the whole tensor is read after it."""
    builder = Builder("rows")
    (y,) = builder.add(Relu(), [builder.input("x", KIND)])
    (first,) = builder.add(rows(0, 3), [y])
    (turned,) = builder.add(Neg(), [first])
    builder.output(builder.add(Concat(0), [builder.add(Neg(), [turned])[0], builder.add(Neg(), [y])[0]])[0])
    scheduled(builder.build())


@pytest.mark.fast
@pytest.mark.parametrize("is_reshaped", [False, True])
def test_rows_that_are_an_output_are_copied_there(is_reshaped: bool) -> None:
    builder = Builder("rows")
    (y,) = builder.add(Relu(), [builder.input("x", KIND)])
    (some,) = builder.add(rows(2, 3), [y])
    builder.output(builder.add(Neg(), [some])[0])
    builder.output(builder.add(Reshape((24,)), [some])[0] if is_reshaped else some)
    assert "Slice" in kinds(scheduled(builder.build()))


@pytest.mark.in_turns(6)
def test_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    run_graph(in_rows(), FEEDS, NATIVE, monkeypatch)


@pytest.mark.fast
def test_no_result_takes_the_place_of_rows_that_it_reads_again() -> None:
    """The first row is taken from all, itself among them."""
    builder = Builder("differences")
    (y,) = builder.add(Neg(), [builder.input("x", KIND)])
    (first,) = builder.add(rows(0, 1), [y])
    builder.output(builder.add(Neg(), [builder.add(Sub(), [y, first])[0]])[0])
    assert "Slice" not in kinds(scheduled(builder.build()))


@pytest.mark.fast
def test_a_view_of_what_a_result_takes_the_place_of() -> None:
    """Both operands are the same bytes, in the same order."""
    builder = Builder("squares")
    (y,) = builder.add(Neg(), [builder.input("x", KIND)])
    (wide,) = builder.add(Reshape((1, 6, 8)), [y])
    (made,) = builder.add(Mul(), [wide, y])
    builder.output(builder.add(Neg(), [made])[0])
    schedule = scheduled(builder.build(), "generic")
    assert schedule.homes[made].offset == schedule.homes[wide].offset

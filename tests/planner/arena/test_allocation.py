"""Which tensors share bytes: only where nothing is lost, on random graphs as in small ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tilewright import targets
from tilewright.errors import InternalError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import TensorType
from tilewright.memory.allocator import Problem, Solution
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.conv import Conv
from tilewright.ops.neg import Neg
from tilewright.ops.reshape import Reshape
from tilewright.ops.sub import Sub
from tilewright.ops.transpose import Transpose
from tilewright.passes import apply
from tilewright.passes.reorder import reorder
from tilewright.pipeline import PASSES
from tilewright.planner.arena.allocation import Allocation, allocate
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.lower_arena import lower_arena
from tilewright.target.mapping import map_nodes

pytestmark = pytest.mark.fast

MATRIX = TensorType("int32", (4, 6))


def allocated(builder: Builder, *outputs: str) -> Allocation:
    for name in outputs:
        builder.output(name)
    return allocate(map_nodes(builder.build(), targets.find("generic")))


class Small(Builder):
    """A graph whose first tensor is in the arena: inputs are never overwritten."""

    def __init__(self) -> None:
        super().__init__("small")
        self.first = self.step(Neg(), self.input("x", MATRIX))

    def step(self, op: Op, *inputs: str) -> str:
        return self.add(op, inputs)[0]


def share(found: Allocation, one: str, other: str) -> bool:
    return found.homes[one].owner == found.homes[other].owner


def test_a_result_takes_the_place_of_what_nothing_reads_any_more() -> None:
    small = Small()
    second = small.step(Neg(), small.first)
    found = allocated(small, small.step(Transpose((1, 0)), second))
    assert share(found, small.first, second)
    assert found.arena_bytes == MATRIX.bytes


def test_not_of_what_is_read_later() -> None:
    small = Small()
    second = small.step(Neg(), small.first)
    assert not share(allocated(small, small.step(Add(), second, small.first)), small.first, second)


def test_not_of_what_is_read_later_through_a_view() -> None:
    small = Small()
    view = small.step(Reshape((6, 4)), small.first)
    second = small.step(Neg(), small.first)
    turned = small.step(Transpose((1, 0)), view)
    found = allocated(small, small.step(Add(), second, turned))
    assert share(found, small.first, view)
    assert not share(found, small.first, second)


@pytest.mark.parametrize("op", [Cast("int8"), Cast("float32"), Transpose((1, 0))], ids=str)
def test_not_of_another_type_or_in_another_order(op: Op) -> None:
    small = Small()
    second = small.step(op, small.first)
    assert not share(allocated(small, small.step(Transpose((1, 0)), second)), small.first, second)


def test_not_of_what_is_broadcast() -> None:
    small = Small()
    column = small.step(Neg(), small.input("column", TensorType("int32", (4, 1))))
    second = small.step(Sub(), column, small.first)
    found = allocated(small, small.step(Transpose((1, 0)), second))
    assert share(found, small.first, second)
    assert not share(found, column, second)


def test_inputs_constants_and_outputs_stay_as_they_are() -> None:
    small = Small()
    constant = small.constant(np.ones((4, 6), np.int32))
    sums = [small.step(Add(), "x", constant), small.step(Neg(), small.first)]
    found = allocated(small, small.first, *(small.step(Transpose((1, 0)), total) for total in sums))
    assert {found.homes[name].kind for name in sums} == {"arena"}
    homes = {name: found.homes[name].kind for name in ("x", constant, small.first)}
    assert homes == {"x": "input", constant: "constant", small.first: "output"}


def test_an_output_owns_what_it_is_a_view_of() -> None:
    small = Small()
    view = small.step(Reshape((24,)), small.first)
    found = allocated(small, view)
    assert found.homes[small.first].kind == "output"
    assert found.arena_bytes == 0


@pytest.mark.asks_c
def test_working_memory_is_apart_from_what_is_alive() -> None:
    builder = Builder("conv")
    x = builder.input("x", TensorType("int8", (1, 3, 9, 9)))
    (first,) = builder.add(Neg(), [x])
    weight = builder.constant(np.ones((4, 3, 3, 3), np.int8))
    (second,) = builder.add(Conv(padding=(1, 1, 1, 1)), [first, weight])
    found = allocated(builder, builder.add(Transpose((0, 2, 3, 1)), [second])[0])
    (buffer,) = (buffer for buffer in found.problem.buffers if buffer.name[-1] == "(scratch)")
    (offset,) = found.scratch.values()
    kernel = found.mapped.choices[second].kernel
    graph = found.mapped.graph
    assert (
        buffer.bytes == kernel.scratch_bytes(graph.producers[second].op, graph.all_types(graph.producers[second])) > 0
    )
    for name in (first, second):
        start, end = found.homes[name].offset, found.homes[name].offset + graph.types[name].bytes
        assert end <= offset or offset + buffer.bytes <= start


def test_a_plan_of_any_solver_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def everything_at_zero(problem: Problem) -> Solution:
        return Solution(dict.fromkeys((buffer.name for buffer in problem.buffers), 0), 10**6, 0, "careless")

    monkeypatch.setattr("tilewright.memory.arena.solve", everything_at_zero)
    small = Small()
    with pytest.raises(InternalError, match="overlap"):
        allocated(small, small.step(Neg(), small.step(Transpose((1, 0)), small.step(Transpose((1, 0)), small.first))))


def test_outputs_have_bytes_of_their_own() -> None:
    """An output may be an input, a constant, another output or a view of one; the caller gives a buffer for each."""
    small = Small()
    constant = small.constant(np.ones((4, 6), np.int32))
    views = [small.step(Reshape(shape), small.first) for shape in ((24,), (6, 4))]
    for name in ("x", constant, small.first, small.first, *views):
        small.output(name)
    graph = apply(small.build(), PASSES)
    found = allocate(map_nodes(graph, targets.find("generic")))
    assert {found.homes[name].kind for name in graph.outputs} == {"output"}
    assert len({found.homes[name].owner for name in graph.outputs}) == 6
    feeds = {"x": np.arange(24, dtype=np.int32).reshape(4, 6)}
    values = list(interpret(lower_arena(found), feeds).values())
    wanted = [feeds["x"], np.ones((4, 6), np.int32), *[-feeds["x"]] * 4]
    for value, expected in zip(values, wanted, strict=True):
        np.testing.assert_array_equal(value.reshape(-1), expected.reshape(-1))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Branches, views, results in place and broadcasts over a few matrices."""
    builder = Builder("random")
    tensors = [builder.input("x", MATRIX), builder.input("row", TensorType("int32", (1, 6)))]
    for _ in range(draw(st.integers(1, 14))):
        one, other = draw(st.sampled_from(tensors)), draw(st.sampled_from(tensors))
        shape = builder.types[one].shape
        fits = builder.types[other].shape in (shape, (1, shape[1]))
        choices: list[tuple[Op, list[str]]] = [
            (Neg(), [one]),
            (Transpose((1, 0)), [one]),
            (Reshape(shape[::-1]), [one]),
        ]
        choices += [(Sub(), [one, other]), (Add(), [other, one])] if fits else []
        op, inputs = draw(st.sampled_from(choices))
        tensors.append(builder.add(op, inputs)[0])
    for name in draw(st.lists(st.sampled_from(tensors[2:]), min_size=1, max_size=3, unique=True)):
        builder.output(name)
    return builder.build()


@pytest.mark.in_turns(6)
@examples(150)
@given(graphs())
def test_no_plan_changes_a_result(graph: Graph) -> None:
    feeds = {name: np.random.default_rng(1).integers(-99, 99, graph.types[name].shape) for name in graph.inputs}
    feeds = {name: array.astype(np.int32) for name, array in feeds.items()}
    lowered = reorder(apply(graph, PASSES))
    schedule = lower_arena(allocate(map_nodes(lowered, targets.find("generic"))))
    wanted, found = evaluate(graph, feeds), interpret(schedule, feeds)
    for old, new in zip(graph.outputs, schedule.graph.outputs, strict=True):
        np.testing.assert_array_equal(found[new], wanted[old])

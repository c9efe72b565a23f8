"""Inputs of a board's network lie in its arena where that has room for them, until they are read."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.fit.test_strips import convolution
from tests.passes.small import Small, feeds_of
from tilewright import pipeline
from tilewright.codegen import folder
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ops.max import Max
from tilewright.pipeline import Compiled
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.schedule import Schedule
from tilewright.program import Program


def network(again: bool = False) -> Graph:
    """The widest tensors are behind the input; if it is read again at the end, it is in their way."""
    small = Small()
    x = small.input("x", 1, 4, 16, 16)
    y = convolution(small, convolution(small, x, 16), 16)
    y = convolution(small, y, 4)
    return small.graph(small.add(Max(), x, y) if again else small.add(Max(), y, y))


def scheduled(graph: Graph, target: str = "cortex-m4") -> Schedule:
    found: Schedule = pipeline.stage(graph, target, "schedule")
    return found


@pytest.mark.in_turns(5)
def test_the_arena_has_room_for_what_is_read_early() -> None:
    graph = network()
    schedule = scheduled(graph)
    assert list(schedule.inputs) == ["x"]
    assert schedule.io_bytes == graph.types[graph.outputs[0]].bytes
    feeds = feeds_of(graph)
    found = interpret(schedule, feeds)[schedule.graph.outputs[0]]
    np.testing.assert_array_equal(found, evaluate(graph, feeds)[graph.outputs[0]])
    assert f"_X_ARENA_OFFSET {schedule.inputs['x']}\n" in folder.files(schedule, "net")["network.h"]


def test_not_for_what_is_read_late() -> None:
    schedule = scheduled(network(again=True))
    assert not schedule.inputs
    assert "ARENA_OFFSET" not in folder.files(schedule, "net")["network.h"]


def test_only_boards_have_it() -> None:
    assert not scheduled(network(), "generic").inputs


@pytest.mark.in_turns(6)
def test_programs_agree() -> None:
    program = Program(Compiled(*pipeline.stages(network(), "cortex-m4")), "", None, 0.0)
    assert program.check().agrees

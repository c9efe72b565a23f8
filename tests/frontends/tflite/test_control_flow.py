"""IF, WHILE and CALL of TensorFlow Lite: what is known at import is put in its place, what data decides on stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

import tilewright as tw
from tests.support.tflite_models import Graph, O, T, constant, write
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.frontends.tflite import control_flow
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array

X, FLAG, COUNT = T("float32", (2, 3)), T("bool", ()), T("int32", ())
FEED = np.linspace(-2, 3, 6, dtype=np.float32).reshape(2, 3)
IF = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
WHILE = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}


def ran(data: bytes) -> Array:
    graph = pipeline.import_model(data)
    return evaluate(graph, {graph.inputs[0]: FEED})[graph.outputs[0]]


def refusal(data: bytes) -> CompileError:
    with pytest.raises(CompileError) as caught:
        pipeline.import_model(data)
    return caught.value


def unary(kind: str) -> Graph:
    return [X, X], [O(kind, [0], [1])], [0], [1]


def branching(condition: T, inputs: Sequence[int] = (0,), branches: Sequence[Graph] = ()) -> bytes:
    operators = [O("IF", [1, 0], [2], "IfOptions", IF)]
    return write([X, condition, X], operators, inputs, [2], more=branches or [unary("SIN"), unary("NEG")])


@pytest.mark.parametrize("taken", [True, False])
def test_if_takes_the_known_branch(taken: bool) -> None:
    found = ran(branching(constant(np.array(taken))))
    np.testing.assert_allclose(found, np.sin(FEED) if taken else -FEED, rtol=1e-6)


def test_what_is_not_taken_is_not_looked_at() -> None:
    custom: Graph = [X, X], [O("CUSTOM", [0], [1], custom="MyOp")], [0], [1]
    ran(branching(constant(np.array(True)), branches=[unary("SIN"), custom]))
    error = refusal(branching(constant(np.array(False)), branches=[unary("SIN"), custom]))
    assert error.what.startswith("is a custom operator")


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_condition_of_data_decides_when_the_network_runs(taken: bool, shape: tuple[int, ...]) -> None:
    graph = pipeline.import_model(branching(T("bool", shape), inputs=(0, 1)))
    assert [node.op.kind for node in graph.nodes] == ["If"]
    feeds = dict(zip(graph.inputs, (FEED, np.full(shape, taken)), strict=True))
    wanted = np.sin(FEED) if taken else -FEED
    np.testing.assert_allclose(evaluate(graph, feeds)[graph.outputs[0]], wanted, rtol=1e-6)


def test_branches_of_data_that_do_more_than_compute() -> None:
    assigning: Graph = (
        [X, T("int8", (), kind="RESOURCE"), X],
        [O("VAR_HANDLE", [], [1], "VarHandleOptions", {"SharedName": "kept"}), O("ASSIGN_VARIABLE", [1, 0], []),
         O("NEG", [0], [2])], [0], [2],
    )  # fmt: skip
    error = refusal(branching(FLAG, inputs=(0, 1), branches=[assigning, unary("NEG")]))
    assert error.what == "is in a branch whose condition is data, and has side effects"
    assert error.hint == control_flow.KNOWN


def test_branches_of_data_with_results_of_two_shapes() -> None:
    smaller: Graph = [X, T("float32", (1, 3))], [O("SLICE", [0, 2, 3], [1])], [0], [1]
    cast("list[T]", smaller[0]).extend([constant(np.array([0, 0], np.int32)), constant(np.array([1, 3], np.int32))])
    error = refusal(branching(FLAG, inputs=(0, 1), branches=[smaller, unary("NEG")]))
    assert error.what.endswith("depends on data and is b8[], the results are f32[1x3] and f32[2x3]")


def looped(body: Graph, condition: Graph | None = None) -> bytes:
    """x and a counter from 0, to begin with; the condition says that the counter is below 3."""
    below: Graph = [COUNT, X, constant(np.array(3, np.int32)), FLAG], [O("LESS", [0, 2], [3])], [0, 1], [3]
    tensors = [X, constant(np.array(0, np.int32)), COUNT, X]
    operators = [O("WHILE", [1, 0], [2, 3], "WhileOptions", WHILE)]
    return write(tensors, operators, [0], [3], more=[condition or below, body])


WEIGHTS = np.array([[1, 2, 3], [-1, 0.5, 0]], np.float32)
BODY: Graph = (
    [COUNT, X, constant(np.array(1, np.int32)), constant(WEIGHTS), COUNT, X],
    [O("ADD", [0, 2], [4], "AddOptions"), O("ADD", [1, 3], [5], "AddOptions")], [0, 1], [4, 5],
)  # fmt: skip


def test_a_loop_of_known_length_is_unrolled_and_shares_its_constants() -> None:
    np.testing.assert_allclose(ran(looped(BODY)), FEED + 3 * WEIGHTS, rtol=1e-6)
    graph = pipeline.import_model(looped(BODY))
    assert [node.op.kind for node in graph.nodes] == ["Add"] * 3
    assert len({node.inputs[1] for node in graph.nodes}) == 1


def until(limit: float) -> bytes:
    """A loop that adds weights until their sum with x is above a limit."""
    scalar, axes = T("float32", ()), constant(np.array([0, 1], np.int32))
    condition: Graph = (
        [COUNT, X, axes, scalar, constant(np.array(limit, np.float32)), FLAG],
        [O("SUM", [1, 2], [3], "ReducerOptions"), O("LESS", [3, 4], [5])], [0, 1], [5],
    )  # fmt: skip
    return looped(BODY, condition)


@pytest.mark.parametrize("limit", [-100.0, 10.0, 50.0])
def test_loops_that_data_ends(limit: float) -> None:
    x, graph = FEED, pipeline.import_model(until(limit))
    while x.sum() < limit:
        x = x + WEIGHTS
    assert "Loop" in {node.op.kind for node in graph.nodes}
    np.testing.assert_allclose(evaluate(graph, {graph.inputs[0]: FEED})[graph.outputs[0]], x, rtol=1e-6)


def test_a_loop_that_data_ends_in_c() -> None:
    program = tw.compile(until(10.0))
    wanted = evaluate(program.compiled.graph, {program.compiled.graph.inputs[0]: FEED})
    (found,) = program.run([FEED]).outputs.values()
    np.testing.assert_allclose(found, wanted[program.compiled.graph.outputs[0]], rtol=1e-6)


def test_loops_that_nothing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_flow, "MOST_UNROLLED", 200)
    endless: Graph = [COUNT, X], [], [0, 1], [0, 1]
    assert refusal(looped(endless)).what == "more than the 200 operators that subgraphs may become"


def test_calls_of_what_is_not_there_and_of_themselves() -> None:
    for number in (0, 7):
        data = write([X, X], [O("CALL", [0], [1], "CallOptions", {"Subgraph": number})], [0], [1])
        assert refusal(data).what == f"calls subgraph {number} of 1, from 0"
    data = write([X, X], [O("CALL", [0], [1], "CallOptions", {"Subgraph": 1})], [0], [1], more=[unary("NEG")])
    np.testing.assert_array_equal(ran(data), -FEED)

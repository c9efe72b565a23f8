"""Operands at run time that the declared shape of a result decides, and those that it leaves open."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.support.checks import same
from tilewright.errors import CompileError
from tilewright.frontends.onnx import importer as frontend
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph

pytestmark = pytest.mark.fast


def model(
    kind: str, x: tuple[int, ...], parameter: int, *results: tuple[int, ...], **attributes: Any
) -> onnx.ModelProto:
    """A node whose second operand is an input of the graph."""
    outputs = [f"y{position}" for position in range(len(results))]
    info = helper.make_tensor_value_info
    inputs = [info("x", TensorProto.FLOAT, x), info("p", TensorProto.INT64, (parameter,))]
    given = [info(name, TensorProto.FLOAT, shape) for name, shape in zip(outputs, results, strict=True)]
    node = helper.make_node(kind, ["x", "p"], outputs, name="node", **attributes)
    graph = helper.make_graph([node], "declared", inputs, given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def results(graph: Graph, x: tuple[int, ...], parameter: int) -> list[np.ndarray[Any, Any]]:
    feeds = {"x": np.arange(np.prod(x), dtype=np.float32).reshape(x), "p": np.zeros(parameter, np.int64)}
    found = evaluate(graph, feeds)
    return [found[name] for name in graph.outputs]


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

DECIDED = {
    "Reshape": ((6, 4), X.reshape(6, 4), {}),
    "Unsqueeze": ((2, 1, 3, 4), X[:, None], {}),
    "Expand": ((5, 2, 3, 4), np.broadcast_to(X, (5, 2, 3, 4)), {}),
    "Tile": ((4, 3, 8), np.tile(X, (2, 1, 2)), {}),
    "ReduceSum": ((2, 1, 4), X.sum(1, keepdims=True), {}),
    "ReduceMax": ((2, 4), X.max(1), {"keepdims": 0}),
}


@pytest.mark.parametrize("kind", DECIDED)
def test_what_the_shape_decides_is_known(kind: str) -> None:
    shape, wanted, attributes = DECIDED[kind]
    graph = frontend.load(model(kind, (2, 3, 4), 3, shape, **attributes))
    (found,) = results(graph, (2, 3, 4), 3)
    same(found, np.ascontiguousarray(wanted))
    assert graph.notes == ("node 'node': 'p' is taken from the declared shape of its result",)


def test_parts_of_a_split_are_as_long_as_they_are_declared() -> None:
    graph = frontend.load(model("Split", (6, 2), 2, (5, 2), (1, 2)))
    assert [value.shape for value in results(graph, (6, 2), 2)] == [(5, 2), (1, 2)]


@pytest.mark.parametrize(
    ("kind", "x", "shape", "attributes"),
    [
        ("ReduceSum", (3, 2, 2), (3, 2), {"keepdims": 0}),
        ("ReduceL1", (3, 1), (3, 1), {}),
        ("Reshape", (0, 3), (3, 0), {}),
    ],
    ids=["two ways", "nothing reduced for sure", "zeros"],
)
def test_what_the_shape_leaves_open_is_refused(
    kind: str, x: tuple[int, ...], shape: tuple[int, ...], attributes: dict[str, int]
) -> None:
    with pytest.raises(CompileError, match="computed at run time"):
        frontend.load(model(kind, x, 2, shape, **attributes))


def test_a_list_without_elements_is_known() -> None:
    graph = frontend.load(model("ReduceSum", (2, 3), 0, (1, 1)))
    same(results(graph, (2, 3), 0)[0], np.full((1, 1), 15, np.float32))

"""Functions of results that are not quantised become tables that agree with ONNX Runtime."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from onnx import ModelProto, NodeProto

from tests.passes.quantise.test_rules import check, kinds, lowered
from tests.support.models import model, node
from tests.support.quantiser import Feeds, Style, quantise
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array

KINDS = ["Sigmoid", "Tanh", "HardSwish", "Gelu", "Elu", "LeakyRelu", "Softplus", "Mish", "HardSigmoid", "Erf", "Exp"]


def floats(*shape: int, scale: float = 1.0) -> Array:
    return (np.random.default_rng(shape).standard_normal(shape) * scale).astype(np.float32)


def behind_a_convolution(nodes: list[NodeProto], scale: float = 1.0, **constants: Array) -> tuple[ModelProto, Feeds]:
    weights = {"w": floats(8, 4, 3, 3, scale=0.15 * scale), "b": floats(8, scale=scale)}
    made = model([node("Conv", "x w b", "c"), *nodes], {"x": (1, 4, 16, 16)}, ["y"], weights | constants, opset=22)
    return made, {"x": floats(1, 4, 16, 16)}


def without_quantisers_inside(made: ModelProto, feeds: Feeds, activation: str = "int8") -> ModelProto:
    inside = {name for n in made.graph.node for name in n.output} - {"y"}
    constants = {tensor.name for tensor in made.graph.initializer} - {"w", "b"}
    return quantise(made, feeds, Style(activation=activation, skip=inside | constants))


def table_lengths(graph: Graph) -> list[int]:
    return [graph.types[n.inputs[1]].shape[0] for n in graph.nodes if n.op.kind == "QLinearFunction"]


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.1, 1, 5])
@pytest.mark.parametrize("activation", ["int8", "uint8"])
def test_behind_convolutions(kind: str, scale: float, activation: str) -> None:
    made, feeds = behind_a_convolution([node(kind, "c", "y")], scale)
    graph = check(without_quantisers_inside(made, feeds, activation), feeds)
    assert kinds(graph) == ["Conv", "QLinearFunction"]
    assert table_lengths(graph)[0] <= 4097


PARTS = {
    "silu": [node("Sigmoid", "c", "s"), node("Mul", "c s", "y")],
    "gelu": [
        node("Div", "c root", "d"), node("Erf", "d", "e"), node("Add", "e one", "a"), node("Mul", "c a", "m"),
        node("Mul", "m half", "y"),
    ],
    "channels": [node("Add", "c channels", "a"), node("HardSwish", "a", "y")],
    "normalised": [
        node("BatchNormalization", "c gamma beta mean variance", "n"), node("Tanh", "n", "t"),
        node("Mul", "t half", "y"),
    ],
    "clamped": [node("Clip", "c zero one", "p"), node("Exp", "p", "e"), node("Relu", "e", "y")],
    "sum": [node("Conv", "x w b", "d"), node("Add", "c d", "a"), node("Gelu", "a", "y")],
}  # fmt: skip
CONSTANTS = {
    "root": np.float32(1.414), "one": np.float32(1), "half": np.float32(0.5), "zero": np.float32(0),
    "channels": floats(8, 1, 1), "gamma": floats(8), "beta": floats(8), "mean": floats(8), "variance": floats(8) ** 2,
}  # fmt: skip


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("case", PARTS)
@pytest.mark.parametrize("activation", ["int8", "uint8"])
def test_functions_of_several_nodes(case: str, activation: str) -> None:
    read = {name for n in PARTS[case] for name in n.input}
    constants = {name: array for name, array in CONSTANTS.items() if name in read}
    made, feeds = behind_a_convolution(PARTS[case], **constants)
    graph = check(without_quantisers_inside(made, feeds, activation), feeds)
    assert kinds(graph).count("QLinearFunction") == 1


@pytest.mark.parametrize("activation", ["int8", "uint8"])
def test_behind_matrix_products(activation: str) -> None:
    nodes = [node("MatMul", "x w", "m"), node("Add", "m b", "a"), node("Gelu", "a", "y", approximate="tanh")]
    made = model(nodes, {"x": (12, 24)}, ["y"], {"w": floats(24, 40, scale=0.3), "b": floats(40)}, opset=22)
    feeds = {"x": floats(12, 24)}
    graph = check(quantise(made, feeds, Style(activation=activation, skip=("m", "a", "b"))), feeds)
    assert kinds(graph) == ["MatMul", "QLinearFunction"]


def test_tables_are_short_where_the_function_is_straight() -> None:
    made, feeds = behind_a_convolution([node("LeakyRelu", "c", "y")])
    assert table_lengths(lowered(without_quantisers_inside(made, feeds))) == [65]


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([node("Floor", "c", "f"), node("Mul", "f much", "y")], "changes too fast"),
        ([node("Mul", "c many", "m"), node("Sin", "m", "y")], "changes too fast|bends too much"),
        ([node("Add", "c much", "a"), node("Sqrt", "a", "y")], "not a number"),
    ],
)
def test_functions_without_a_good_table_stay_in_floats(nodes: list[NodeProto], reason: str) -> None:
    constants = {"much": np.float32(10), "many": np.float32(3000)}
    read = {name for n in nodes for name in n.input}
    made, feeds = behind_a_convolution(nodes, **{name: array for name, array in constants.items() if name in read})
    graph = lowered(without_quantisers_inside(made, feeds))
    assert "QLinearFunction" not in kinds(graph)
    (note,) = graph.notes
    assert any(part in note for part in reason.split("|")), note


@pytest.mark.in_turns(3)
def test_very_long_chains_stay_in_floats() -> None:
    names = ["c", *(f"t{number}" for number in range(1200)), "y"]
    made, feeds = behind_a_convolution([node("Neg", *pair) for pair in pairwise(names)])
    graph = lowered(without_quantisers_inside(made, feeds))
    assert kinds(graph).count("Neg") == 1201
    assert "the last of very many operators" in graph.notes[0]

"""Normalisations of quantised rows become integer arithmetic that agrees with ONNX Runtime."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from onnx import helper

from tests.passes.quantise.test_rules import STYLES, check, kinds, lowered
from tests.support.models import model, node
from tests.support.quantiser import Style, quantise
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast


def floats(*shape: int, scale: float = 1.0, around: float = 0.0) -> Array:
    return (np.random.default_rng(shape).standard_normal(shape) * scale + around).astype(np.float32)


ROWS = [((4, 32), -1), ((2, 3, 768), -1), ((2, 3, 4, 5), 2), ((5, 2), 1), ((3, 1), 1), ((1, 70), 0)]


NUMBERS = [(1, 0), (20, 100), (0.01, 0.3), (3e-4, 0)]
"""How they are spread, and around what."""


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("rows", "numbers", "style"), list(product(ROWS, NUMBERS, ["int8", "uint8"])))
def test_layer_normalisation(rows: tuple[tuple[int, ...], int], numbers: tuple[float, float], style: str) -> None:
    (shape, axis), (scale, around) = rows, numbers
    row = shape[axis:]
    nodes = [node("LayerNormalization", "x g h", "y", axis=axis)]
    made = model(nodes, {"x": shape}, ["y"], {"g": floats(*row), "h": floats(*row, scale=2)})
    feeds = {"x": floats(*shape, scale=scale, around=around)}
    assert kinds(check(quantise(made, feeds, STYLES[style]), feeds)) == ["QLinearRowNorm"]


@pytest.mark.parametrize("style", ["int8", "uint8"])
@pytest.mark.parametrize("around", [0, 2])
def test_rms_normalisation(style: str, around: float) -> None:
    made = model([node("RMSNormalization", "x g", "y")], {"x": (6, 96)}, ["y"], {"g": floats(96)}, opset=23)
    feeds = {"x": floats(6, 96, around=around)}
    assert kinds(check(quantise(made, feeds, STYLES[style]), feeds)) == ["QLinearRowNorm"]


@pytest.mark.parametrize("style", ["int8", "uint8"])
def test_sums_are_normalised_without_a_rounding_to_bytes(style: str) -> None:
    nodes = [node("SkipLayerNormalization", "x s g h b", "y", domain="com.microsoft")]
    constants = {"g": floats(32), "h": floats(32), "b": floats(32)}
    made = model(nodes, {"x": (1, 9, 32), "s": (1, 9, 32)}, ["y"], constants)
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    feeds = {"x": floats(1, 9, 32), "s": floats(1, 9, 32, scale=3)}
    graph = check(quantise(made, feeds, STYLES[style]), feeds)
    assert kinds(graph) == ["RequantShift", "QLinearAdd", "QLinearRowNorm"]
    assert {graph.types[n.key].dtype for n in graph.nodes if n.op.kind == "QLinearAdd"} == {"int32"}


def test_small_summands_count_where_the_large_ones_are_all_alike() -> None:
    nodes = [node("Add", "x s", "a"), node("LayerNormalization", "a g h", "y")]
    made = model(nodes, {"x": (9, 64), "s": (9, 64)}, ["y"], {"g": floats(64), "h": floats(64)})
    wide = np.where(np.arange(9 * 64).reshape(9, 64) == 5, np.float32(5000), 0).astype(np.float32)
    feeds = {"x": wide, "s": floats(9, 64)}
    check(quantise(made, feeds, Style(skip=("a",))), feeds)


def test_what_follows_is_absorbed() -> None:
    nodes = [
        node("LayerNormalization", "x g", "n"), node("Mul", "n f", "m"), node("Add", "m h", "a"),
        node("Relu", "a", "y"),
    ]  # fmt: skip
    made = model(nodes, {"x": (5, 48)}, ["y"], {"g": floats(48), "f": np.float32(-1.5), "h": floats(48)})
    feeds = {"x": floats(5, 48)}
    assert kinds(check(quantise(made, feeds, Style(skip=("n", "m", "a"))), feeds)) == ["QLinearRowNorm"]


def test_sixteen_bits() -> None:
    made = model([node("LayerNormalization", "x g", "y")], {"x": (5, 48)}, ["y"], {"g": floats(48)}, opset=21)
    feeds = {"x": floats(5, 48)}
    graph = check(quantise(made, feeds, Style(activation="int16")), feeds)
    assert kinds(graph) == ["QLinearRowNorm"]


@pytest.mark.parametrize("style", ["int8", "uint8"])
@pytest.mark.parametrize("shape", [(2, 6, 5, 7), (1, 3, 40), (2, 4, 2, 3, 3), (3, 1, 9, 9)])
def test_instance_normalisation(shape: tuple[int, ...], style: str) -> None:
    constants = {"g": floats(shape[1]), "h": floats(shape[1], scale=2)}
    made = model([node("InstanceNormalization", "x g h", "y")], {"x": shape}, ["y"], constants)
    feeds = {"x": floats(*shape, scale=3, around=1)}
    graph = check(quantise(made, feeds, STYLES[style]), feeds)
    assert kinds(graph) == ["Reshape", "QLinearRowNorm", "Reshape"]


@pytest.mark.parametrize("style", ["int8", "uint8"])
@pytest.mark.parametrize("groups", [1, 3, 6])
def test_group_normalisation(groups: int, style: str) -> None:
    nodes = [
        node("GroupNormalization", "x g h", "n", num_groups=groups),
        node("Mul", "n f", "m"),
        node("Relu", "m", "y"),
    ]
    constants = {"g": floats(6), "h": floats(6), "f": floats(6, 1, 1)}
    made = model(nodes, {"x": (2, 6, 5, 7)}, ["y"], constants, opset=21)
    feeds = {"x": floats(2, 6, 5, 7)}
    graph = check(quantise(made, feeds, Style(activation=style, skip=("n", "m"))), feeds)
    assert kinds(graph) == ["Reshape", "QLinearRowNorm", "Reshape"]


def test_statistics_stay_in_floats() -> None:
    made = model([node("LayerNormalization", "x g h", "y m v")], {"x": (5, 48)}, ["y", "m"], {
        "g": floats(48), "h": floats(48),
    })  # fmt: skip
    feeds = {"x": floats(5, 48)}
    graph = lowered(quantise(made, feeds))
    assert sorted(kinds(graph)) == ["LayerNormalization", "QLinearRowNorm"]


@pytest.mark.parametrize("epsilon", [-1.0, float("inf"), float("nan")])
def test_a_senseless_epsilon_is_not_for_integers(epsilon: float) -> None:
    made = model([node("LayerNormalization", "x g", "y")], {"x": (4, 6)}, ["y"], {"g": floats(6)})
    quantised = quantise(made, {"x": floats(4, 6)})
    (normalisation,) = (n for n in quantised.graph.node if n.op_type == "LayerNormalization")
    normalisation.attribute.append(helper.make_attribute("epsilon", epsilon))
    (note,) = lowered(quantised).notes
    assert f"its epsilon is {epsilon}" in note


def test_nothing_to_normalise() -> None:
    nodes = [node("Mul", "x zero", "m"), node("LayerNormalization", "m g", "y")]
    made = model(nodes, {"x": (4, 6)}, ["y"], {"g": floats(6), "zero": np.float32([0])})
    (note,) = lowered(quantise(made, {"x": floats(4, 6)}, Style(skip=("m",)))).notes
    assert "always zero" in note

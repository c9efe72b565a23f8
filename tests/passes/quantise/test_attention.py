"""What an attention of a language model has besides products: rotated queries, masks, norms written out in nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from tests.passes.quantise.test_rules import check, kinds, lowered
from tests.support.models import model, node
from tests.support.quantiser import Style, quantise
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast

SHAPE = (1, 3, 5, 8)

Swapped = Callable[[], tuple[list[NodeProto], dict[str, Array]]]
"""Nodes that make w of x, with the constants that they read."""


def floats(*shape: int, scale: float = 1.0) -> Array:
    return (np.random.default_rng(shape).standard_normal(shape) * scale).astype(np.float32)


def integers(*values: int) -> Array:
    return np.array(values, np.int64)


# ---- rotations ----------------------------------------------------------------------------------------------------

ANGLES = np.outer(np.arange(5), 1.0 / 10.0 ** np.arange(4))
HALVES = {"c": np.cos(np.tile(ANGLES, 2)).astype(np.float32), "s": np.sin(np.tile(ANGLES, 2)).astype(np.float32)}
INSIDE = ("a", "b", "n", "w", "straight", "across")
TURNING = [node("Mul", "x c", "straight"), node("Mul", "w s", "across"), node("Add", "straight across", "y")]


def halves_swapped() -> tuple[list[NodeProto], dict[str, Array]]:
    bounds = {"zero": integers(0), "half": integers(4), "all": integers(8), "last": integers(-1)}
    nodes = [
        node("Slice", "x zero half last", "a"), node("Slice", "x half all last", "b"), node("Neg", "b", "n"),
        node("Concat", "n a", "w", axis=-1),
    ]  # fmt: skip
    return nodes, bounds


def halves_split() -> tuple[list[NodeProto], dict[str, Array]]:
    nodes = [
        node("Split", "x parts", "a b", axis=3), node("Neg", "b", "n"), node("Concat", "n a", "w", axis=3),
    ]  # fmt: skip
    return nodes, {"parts": integers(4, 4)}


def neighbours_swapped() -> tuple[list[NodeProto], dict[str, Array]]:
    bounds = {"zero": integers(0), "one": integers(1), "all": integers(8), "last": integers(3), "two": integers(2)}
    nodes = [
        node("Slice", "x zero all last two", "a"), node("Slice", "x one all last two", "b"), node("Neg", "b", "n"),
        node("Unsqueeze", "n at", "n1"), node("Unsqueeze", "a at", "a1"), node("Concat", "n1 a1", "pairs", axis=-1),
        node("Reshape", "pairs shape", "w"),
    ]  # fmt: skip
    return nodes, {**bounds, "at": integers(-1), "shape": integers(*SHAPE)}


@pytest.mark.parametrize("style", ["int8", "uint8"])
@pytest.mark.parametrize("swapped", [halves_swapped, halves_split, neighbours_swapped])
def test_a_rotation_is_one_operator(swapped: Swapped, style: str) -> None:
    nodes, constants = swapped()
    skip = (*INSIDE, "n1", "a1", "pairs")
    made = model([*nodes, *TURNING], {"x": SHAPE}, ["y"], {**HALVES, **constants})
    feeds = {"x": floats(*SHAPE, scale=2)}
    assert kinds(check(quantise(made, feeds, Style(activation=style, skip=skip)), feeds)) == ["QLinearRotate"]


def test_a_rotation_of_sixteen_bits() -> None:
    nodes, constants = halves_swapped()
    made = model([*nodes, *TURNING], {"x": SHAPE}, ["y"], {**HALVES, **constants}, opset=21)
    feeds = {"x": floats(*SHAPE)}
    style = Style(activation="int16", skip=(*INSIDE, "c", "s"))
    # Angles have 16 bits like the result: one step is what they may move it by, now and then.
    assert kinds(check(quantise(made, feeds, style), feeds, equal=0.8)) == ["QLinearRotate"]


# ---- angles that positions choose at run time -----------------------------------------------------------------------

TABLE = np.outer(np.arange(40), 1.0 / 10.0 ** np.arange(4))
TABLES = {
    "cosines": np.cos(np.tile(TABLE, 2)).astype(np.float32), "sines": np.sin(np.tile(TABLE, 2)).astype(np.float32),
    "one": integers(1), "offsets": np.arange(3, dtype=np.int32),
}  # fmt: skip
CHOOSING = [
    node("Add", "position offsets", "positions"), node("Gather", "cosines positions", "cr"),
    node("Gather", "sines positions", "sr"), node("Unsqueeze", "cr one", "c"), node("Unsqueeze", "sr one", "s"),
]  # fmt: skip
CHOSEN = ("position", "positions", "cr", "sr", "c", "s", "cosines", "sines")
AT_21 = {"position": np.array([21], np.int32)}


def with_position(nodes: list[NodeProto], constants: dict[str, Array]) -> ModelProto:
    made = model(nodes, {"x": SHAPE, "position": (1,)}, ["y"], constants)
    made.graph.input[1].type.tensor_type.elem_type = TensorProto.INT32
    return made


@pytest.mark.parametrize("swapped", [halves_swapped, neighbours_swapped])
def test_angles_of_positions_are_rows_of_integers(swapped: Swapped) -> None:
    nodes, constants = swapped()
    made = with_position([*CHOOSING, *nodes, *TURNING], {**TABLES, **constants})
    feeds = {"x": floats(*SHAPE, scale=2)} | AT_21
    skip = (*INSIDE, *CHOSEN, "n1", "a1", "pairs")
    graph = check(quantise(made, feeds, Style(skip=skip)), feeds)
    assert sorted(kinds(graph)) == ["Add", "Gather", "Gather", "QLinearRotate", "Reshape", "Reshape"]
    tables = [graph.constants[one.inputs[0]] for one in graph.nodes if one.op.kind == "Gather"]
    assert all(table.dtype == np.int16 and table.shape == (40, 8) for table in tables)


@pytest.mark.parametrize("axis", [0, 1])
def test_angles_of_which_columns_are_chosen_are_none(axis: int) -> None:
    """Rows of a table that was turned are no rows of angles."""
    turned = {name: np.ascontiguousarray(TABLES[name].T) for name in ("cosines", "sines")}
    tables = {**TABLES, **(turned if axis else {})}
    nodes, constants = halves_swapped()
    choosing = [
        CHOOSING[0],
        *(node("Gather", f"{table}s positions", f"{table[0]}t", axis=axis) for table in ("cosine", "sine")),
        *(node("Transpose", f"{name}t", f"{name}r", perm=[1, 0] if axis else [0, 1]) for name in "cs"), *CHOOSING[3:],
    ]  # fmt: skip
    made = with_position([*choosing, *nodes, *TURNING], {**tables, **constants})
    feeds = {"x": floats(*SHAPE, scale=2)} | AT_21
    graph = lowered(quantise(made, feeds, Style(skip=(*INSIDE, *CHOSEN, "ct", "st"))))
    assert ("QLinearRotate" in kinds(graph)) == (axis == 0)


def test_what_is_swapped_otherwise_is_no_rotation() -> None:
    bounds = {"zero": integers(0), "half": integers(4), "all": integers(8), "last": integers(-1)}
    nodes = [
        node("Slice", "x zero half last", "a"), node("Slice", "x half all last", "b"), node("Neg", "b", "n"),
        node("Concat", "a n", "w", axis=-1),
    ]  # fmt: skip
    made = model([*nodes, *TURNING], {"x": SHAPE}, ["y"], {**HALVES, **bounds})
    feeds = {"x": floats(*SHAPE)}
    graph = lowered(quantise(made, feeds, Style(skip=INSIDE)))
    assert "QLinearRotate" not in kinds(graph)
    assert any("stays in floats" in note for note in graph.notes)


# ---- masks ----------------------------------------------------------------------------------------------------------

CAUSAL = np.triu(np.ones((5, 5), bool), 1)


@pytest.mark.parametrize("hidden", [-1e4, -1e9, float(np.finfo(np.float32).min), -np.inf])
def test_a_mask_that_is_added(hidden: float) -> None:
    mask = np.where(CAUSAL, np.float32(hidden), np.float32(0))
    made = model([node("Add", "x m", "a"), node("Softmax", "a", "y")], {"x": (2, 5, 5)}, ["y"], {"m": mask})
    feeds = {"x": floats(2, 5, 5, scale=4)}
    graph = check(quantise(made, feeds, Style(activation="uint8", skip=("a", "m"))), feeds)
    assert kinds(graph) == ["QLinearMaskedSoftmax"]


@pytest.mark.parametrize("scale", [0.3, 4, 100])
@pytest.mark.parametrize("masked", [True, False])
def test_scores_of_sixteen_bits(scale: float, masked: bool) -> None:
    mask = np.where(CAUSAL & masked, np.float32(-1e4), np.float32(0))
    made = model([node("Add", "x m", "a"), node("Softmax", "a", "y")], {"x": (2, 5, 5)}, ["y"], {"m": mask}, opset=21)
    feeds = {"x": floats(2, 5, 5, scale=scale)}
    quantised = quantise(made, feeds, Style(activation="int16", skip=("a", "m")))
    for constant in quantised.graph.initializer:
        if constant.name == "x_z":
            constant.CopyFrom(numpy_helper.from_array(np.array(0, np.int16), "x_z"))
        if constant.name == "x_s":
            constant.CopyFrom(numpy_helper.from_array(np.float32(np.abs(feeds["x"]).max() / 32767), "x_s"))
    # Fine exponentials have 15 bits like the shares: one step is what they may move them by, now and then.
    assert kinds(check(quantised, feeds, equal=0.7)) == ["QLinearMaskedSoftmax"]


def test_a_mask_that_chooses() -> None:
    nodes = [node("Where", "m x low", "a"), node("Softmax", "a", "y")]
    made = model(nodes, {"x": (2, 5, 5)}, ["y"], {"m": ~CAUSAL, "low": np.float32(-1e9)})
    feeds = {"x": floats(2, 5, 5, scale=4)}
    graph = check(quantise(made, feeds, Style(skip=("a", "low", "m"))), feeds)
    assert kinds(graph) == ["QLinearMaskedSoftmax"]


@pytest.mark.parametrize(
    "mask", [np.where(CAUSAL, -1e4, -0.5), np.where(CAUSAL, -3.0, 0.0), np.full((5, 5), -1e4)],
    ids=["shifts what it shows", "hides little", "hides all"],
)  # fmt: skip
def test_what_does_more_than_to_hide_stays(mask: Array) -> None:
    nodes, feeds = [node("Add", "x m", "a"), node("Softmax", "a", "y")], {"x": floats(2, 5, 5, scale=4)}
    made = model(nodes, {"x": (2, 5, 5)}, ["y"], {"m": mask.astype(np.float32)})
    graph = lowered(quantise(made, feeds, Style(skip=("a", "m"))))
    assert kinds(graph) == ["Add", "Softmax"]


# ---- norms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["int8", "uint8"])
def test_a_norm_that_is_written_out(style: str) -> None:
    nodes = [
        node("Pow", "x two", "squares"), node("ReduceMean", "squares", "mean", axes=[-1]),
        node("Add", "mean e", "padded"), node("Sqrt", "padded", "root"), node("Reciprocal", "root", "inverse"),
        node("Mul", "x inverse", "scaled"), node("Mul", "g scaled", "y"),
    ]  # fmt: skip
    constants = {"two": np.float32(2), "e": np.float32(1e-5), "g": floats(48)}
    made = model(nodes, {"x": (5, 48)}, ["y"], constants, opset=17)
    inside = ("squares", "mean", "padded", "root", "inverse", "scaled", *constants)
    feeds = {"x": floats(5, 48)}
    graph = check(quantise(made, feeds, Style(activation=style, skip=inside)), feeds)
    assert kinds(graph) == ["QLinearRowNorm"]

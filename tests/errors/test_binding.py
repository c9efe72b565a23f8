"""--shape and --bind: inputs whose axes no --dim can bind, and inputs that are fixed to a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tilewright as tw
from tilewright.cli.binding import Binding
from tilewright.errors import CompileError

OPEN: dict[str, tuple[Any, ...]] = {
    "unnamed": (None, 3, None), "repeated": ("?", 3, "?"), "negative": (-1, 3, -1), "same name": ("n", 3, "n"),
    "no size": (0, 3, 0),
}  # fmt: skip


def relu(shape: tuple[Any, ...] | None) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    return helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "net", inputs, outputs))


def scaled(dtype: int = TensorProto.FLOAT, shape: tuple[Any, ...] = ()) -> onnx.ModelProto:
    """y = x * float(k)"""
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3)), helper.make_tensor_value_info("k", dtype, shape)
    ]  # fmt: skip
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    nodes = [helper.make_node("Cast", ["k"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["x", "f"], ["y"])]
    return helper.make_model(helper.make_graph(nodes, "net", inputs, outputs))


@pytest.mark.parametrize("axes", OPEN)
def test_a_shape_binds_any_axes(axes: str) -> None:
    proto = relu(OPEN[axes])
    graph = tw.compile(proto, shapes={"x": (2, 3, 5)}).graph
    assert graph.types["x"].shape == (2, 3, 5)
    assert proto.graph.input[0].type == relu(OPEN[axes]).graph.input[0].type, "the caller's model is changed"


def test_a_shape_is_given_to_an_input_without_one() -> None:
    assert tw.compile(relu(None), shapes={"x": (4, 5)}).graph.types["y"].shape == (4, 5)


def test_a_symbol_that_a_shape_binds_is_bound_in_other_inputs() -> None:
    proto = relu(("n", 2))
    proto.graph.input.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, ("n", 7)))
    assert tw.compile(proto, shapes={"x": (3, 2)}).graph.types["h"].shape == (3, 7)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ((2, 3), "2 axes, the input has 3"),
        ((2, 4, 5), "axis 1 is fixed at 3 in the file, not 4"),
        ((2, 3, 2**40), "has a size out of range"),
    ],
)
def test_a_shape_that_the_file_contradicts(given: tuple[int, ...], what: str) -> None:
    with pytest.raises(CompileError, match=what):
        tw.compile(relu((None, 3, "n")), shapes={"x": given})


def test_unknown_inputs_and_contradicting_sizes() -> None:
    with pytest.raises(CompileError, match="the model has no input 'z'"):
        tw.compile(relu(("n",)), shapes={"z": (1,)})
    with pytest.raises(CompileError, match="the model has no input 'z'"):
        tw.compile(relu((1,)), bind={"z": 1})
    with pytest.raises(CompileError, match="--dim n=4: --shape makes it 3"):
        tw.compile(relu(("n",)), shapes={"x": (3,)}, dims={"n": 4})


def test_open_axes_are_answered_with_the_option_that_binds_them() -> None:
    with pytest.raises(CompileError) as caught:
        tw.compile(relu((None, 3, -1)))
    assert caught.value.hint == "give its shape: --shape x=1,3,1"


@pytest.mark.parametrize(
    ("dtype", "shape", "value", "expected"),
    [
        (TensorProto.INT64, (), 3, 3),
        (TensorProto.INT64, (1,), 3, 3),
        (TensorProto.INT64, (None,), 3, 3),
        (TensorProto.FLOAT, (2, 3), 0.5, 0.5),
        (TensorProto.FLOAT, (3,), [1, 2, 3], [1, 2, 3]),
        (TensorProto.FLOAT, (2, 3), range(6), [[0, 1, 2], [3, 4, 5]]),
        (TensorProto.BOOL, (), True, 1),
    ],
)
def test_a_bound_input_is_folded(dtype: int, shape: tuple[Any, ...], value: Any, expected: Any) -> None:
    program = tw.compile(scaled(dtype, shape), bind={"k": value})
    assert program.graph.inputs == ("x",)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(program.reference([x])["y"], x * np.asarray(expected, np.float32))


@pytest.mark.parametrize(
    ("dtype", "shape", "value", "what"),
    [
        (TensorProto.INT8, (), 300, "does not fit the input's element type int8"),
        (TensorProto.INT64, (), 0.5, "does not fit the input's element type int64"),
        (TensorProto.FLOAT, (2, 3), [1, 2], r"2 elements of shape \[2\], the input is 2x3"),
        (TensorProto.FLOAT, (), "many", "not numbers"),
    ],
)
def test_values_that_cannot_be_bound(dtype: int, shape: tuple[Any, ...], value: Any, what: str) -> None:
    with pytest.raises(CompileError, match=what):
        tw.compile(scaled(dtype, shape), bind={"k": value})


def test_words_of_the_command_line(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.ones((2, 2)))
    found = Binding(
        shape=["x=1,3,48,192"], bind=["sr=16000", "l=[1,2.5]", "b=true", f"v={tmp_path / 'v.npy'}"]
    ).options()
    assert found["shapes"] == {"x": (1, 3, 48, 192)}
    assert found["bind"]["sr"] == 16000
    assert found["bind"]["l"].tolist() == [1, 2.5]
    assert found["bind"]["b"] == 1
    assert found["bind"]["v"].shape == (2, 2)


@pytest.mark.parametrize(
    ("shape", "bind", "what"),
    [
        (["x=1,-3"], None, "is not a list of whole numbers"),
        (["x"], None, "is not NAME=VALUE"),
        (None, ["sr=fast"], "is neither numbers nor a .npy file"),
        (None, ["sr=missing.npy"], "cannot be read"),
    ],
)
def test_words_that_mean_nothing(shape: list[str] | None, bind: list[str] | None, what: str) -> None:
    with pytest.raises(CompileError, match=what):
        Binding(shape=shape, bind=bind).options()

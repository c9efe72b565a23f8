"""Bad TensorFlow Lite files: one clear error each."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support.tflite_cases import QUANTISED
from tests.support.tflite_models import O, Sparse, T, write
from tilewright import pipeline
from tilewright.errors import CompileError, ManyErrors

pytestmark = pytest.mark.fast
X = T("float32", (2, 3))


def refusal(data: bytes, **options: object) -> CompileError:
    with pytest.raises(CompileError) as caught:
        pipeline.import_model(data, **options)
    return caught.value


def one(operator: O, *tensors: T, inputs: tuple[int, ...] = (0,), output: int = -1) -> bytes:
    return write(tensors, [operator], inputs, [output % len(tensors)])


def test_custom_and_flex_operators() -> None:
    error = refusal(one(O("CUSTOM", [0], [1], custom="MyOp"), X, X))
    assert str(error) == (
        "node 't1' (MyOp): is a custom operator: what it computes is not in the file\n"
        "  hint: replace it before conversion"
    )
    error = refusal(one(O("CUSTOM", [0], [1], custom="FlexErf"), X, X))
    assert "is the TensorFlow operator Erf" in error.what
    assert error.hint == "convert the model with built-in operators only"


def test_everything_that_is_not_supported_is_named_at_once() -> None:
    operators = [O("RELU", [0], [1]), O("LSTM", [1], [2]), O("RELU", [2], [3]), O("SVDF", [1], [4])]
    error = refusal(write([X] * 5, operators, [0], [3, 4]))
    assert isinstance(error, ManyErrors)
    assert [one.what for one in error.errors] == ["operator LSTM is not supported", "operator SVDF is not supported"]


def test_control_flow() -> None:
    assert refusal(one(O("WHILE", [0], [1]), X, X)).what == "option CondSubgraphIndex is missing"
    assert refusal(one(O("STABLEHLO_WHILE", [0], [1]), X, X)).what == "operator STABLEHLO_WHILE is not supported"


@pytest.mark.parametrize("version", [0, 9, 2**31 - 1])
def test_versions_of_operators(version: int) -> None:
    found = refusal(write([X, X], [O("RELU", [0], [1], version=version)], [0], [1]))
    assert f"has version {version} of RELU, 8 is the newest known" in found.what


def test_versions() -> None:
    assert refusal(write([X, X], [O("RELU", [0], [1])], [0], [1], version=9)).what == (
        "has version 9 of the schema, 3 is known"
    )


def test_sparse_and_small_tensors() -> None:
    computed = T("float32", (2, 3), sparse=Sparse())
    assert refusal(one(O("RELU", [0], [1]), X, computed)).what == "tensor 't1' is sparse"
    small = T("int8", (2, 3), 0.1, kind="INT4")
    assert "has elements of int4" in refusal(one(O("DEQUANTIZE", [0], [1]), small, X)).what


@pytest.mark.parametrize(
    ("sparse", "says"),
    [
        (Sparse(), r"order \[\] of 0 levels for 2 axes"),
        (Sparse([0, 1], [2, ([0, 2], [0, 1])]), "lists of 1 positions, 2 expected"),
        (Sparse([0, 1], [2, ([0, 2, 1], [0, 1])]), "lists of 2 positions, 2 expected, with 2 elements"),
        (Sparse([0, 1], [2, ([0, 1, 2], [0, 3])]), "elements beyond axis 1"),
        (Sparse([0, 1], [2, ([0, 1, 1], [0])]), "2 elements stored for 1 positions"),
        (Sparse([0, 1], [2**30, 2**30]), "at most 2 are stored"),
    ],
)
def test_sparse_constants_that_contradict_themselves(sparse: Sparse, says: str) -> None:
    weights = T("float32", (2, 3), value=np.ones(2, np.float32), sparse=sparse)
    error = refusal(one(O("DENSIFY", [1], [2]), X, weights, X))
    assert error.what.startswith("is damaged: ")
    assert re.search(f"sparse tensor 't1': .*{says}", error.what)


def test_damaged_bytes() -> None:
    data = QUANTISED["conv"](np.random.default_rng(0))
    for length in (8, 40, len(data) // 2, len(data) - 40):
        assert refusal(data[:length]).what.startswith("is damaged: ")
    assert refusal(b"\x1c\x00\x00\x00TFL3" + b"\xff" * 64).what.startswith("is damaged: ")


def test_a_buffer_of_another_size() -> None:
    short = T("float32", (2, 3), value=np.ones(5, np.float32))
    assert "tensor 't1' of shape (2, 3) has 20 bytes" in refusal(one(O("ADD", [0, 1], [2]), X, short, X)).what


def test_floats_beside_integers_with_scales() -> None:
    """Also with a scale of their own, which says nothing."""
    integers, floats = T("int8", (2, 3), 0.1), T("float32", (2, 3), 0.1)
    error = refusal(write([integers, floats, integers], [O("MAXIMUM", [0, 1], [2])], [0, 1], [2]))
    assert "input 1 is float32, beside integers with scales" in error.what


def test_types_that_contradict_the_operator() -> None:
    error = refusal(one(O("RELU", [0], [1]), X, T("float32", (2, 4))))
    assert error.what == "gives f32[2x3], but 't1' is declared f32[2x4]"


def test_a_graph_without_outputs() -> None:
    assert str(refusal(write([X, X], [O("RELU", [0], [1])], [0], []))) == (
        "graph 'main': has no outputs\n  hint: convert the model again"
    )


def test_quantised_without_a_scale() -> None:
    operator = O("ADD", [0, 1], [2], "AddOptions")
    quantised = T("int8", (2, 3), 0.1)
    error = refusal(one(operator, quantised, quantised, T("int8", (2, 3)), inputs=(0, 1)))
    assert error.what == "tensor 't2' is int8 without a scale"


def test_options_that_do_not_fit() -> None:
    data = one(O("RELU", [0], [1]), X, X)
    assert refusal(data, tflite_rounding="upwards").hint == "use one of micro, reference, optimised, single, float"
    assert "all types stated, and no symbols" in refusal(data, dims={"batch": 1}).what
    graph = onnx.helper.make_graph([], "g", [], [])
    error = refusal(onnx.helper.make_model(graph).SerializeToString(), tflite_rounding="single")
    assert error.what == "is for TensorFlow Lite files, and the model is none"


def test_a_file_by_its_name_or_by_what_it_begins_with(tmp_path: Path) -> None:
    data = one(O("RELU", [0], [1]), X, X)
    for name in ("model.tflite", "model.bin"):
        (tmp_path / name).write_bytes(data)
        assert pipeline.import_model(tmp_path / name).name == "model"
    (tmp_path / "other.tflite").write_bytes(b"nothing")
    with pytest.raises(CompileError, match="is no TensorFlow Lite file"):
        pipeline.import_model(tmp_path / "other.tflite")
    with pytest.raises(CompileError, match="cannot be read"):
        pipeline.import_model(tmp_path / "missing.tflite")

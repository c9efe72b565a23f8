"""RFFT2D and what is taken of complex tensors, open shapes, and the division of shape arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.tflite_models import O, T, constant, write
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast
FEED = np.random.default_rng(5).normal(size=(2, 3, 8)).astype(np.float32)


def ran(data: bytes, feed: Array = FEED) -> Array:
    graph = pipeline.import_model(data)
    return evaluate(graph, {graph.inputs[0]: feed})[graph.outputs[0]]


def spectrum(kind: str, lengths: tuple[int, int], dtype: str = "float32") -> bytes:
    shape = (2, lengths[0], lengths[1] // 2 + 1)
    made, options = T("float32", shape, kind="COMPLEX64"), "CastOptions" if kind == "CAST" else ""
    tensors = [T("float32", FEED.shape), constant(np.array(lengths, np.int32)), made, T(dtype, shape)]
    return write(tensors, [O("RFFT2D", [0, 1], [2]), O(kind, [2], [3], options)], [0], [3])


TAKEN = {"CAST": np.real, "REAL": np.real, "IMAG": np.imag, "COMPLEX_ABS": np.abs}


@pytest.mark.parametrize("lengths", [(1, 8), (4, 8), (2, 16), (4, 4)])
@pytest.mark.parametrize("kind", TAKEN)
def test_spectra(kind: str, lengths: tuple[int, int]) -> None:
    wanted = TAKEN[kind](np.fft.rfft2(FEED.astype(np.float64), lengths))
    np.testing.assert_allclose(ran(spectrum(kind, lengths)), wanted, atol=1e-5)


@pytest.mark.parametrize("kind", ["REAL", "IMAG"])
def test_both_parts_are_moved(kind: str) -> None:
    shape = (2, 1, 5)
    tensors = [
        T("float32", (2, 1, 8)), constant(np.array([1, 8], np.int32)), T("float32", shape, kind="COMPLEX64"),
        T("float32", (2, 5), kind="COMPLEX64"), T("float32", (5, 2), kind="COMPLEX64"),
        constant(np.array([5, 2], np.int32)), T("float32", (5, 2)),
    ]  # fmt: skip
    squeeze = O("SQUEEZE", [2], [3], "SqueezeOptions", {"SqueezeDims": [-2]})
    operators = [O("RFFT2D", [0, 1], [2]), squeeze, O("RESHAPE", [3, 5], [4]), O(kind, [4], [6])]
    found = ran(write(tensors, operators, [0], [6]), FEED[:, :1])
    wanted = np.fft.rfft2(FEED[:, :1].astype(np.float64), (1, 8)).reshape(5, 2)
    np.testing.assert_allclose(found, TAKEN[kind](wanted), atol=1e-5)


def test_other_operators_and_outputs_refuse_complex_tensors() -> None:
    with pytest.raises(CompileError, match="'t2' has elements of complex64"):
        pipeline.import_model(spectrum("NEG", (1, 8)))
    tensors = [
        T("float32", FEED.shape),
        constant(np.array([1, 8], np.int32)),
        T("float32", (2, 1, 5), kind="COMPLEX64"),
    ]
    with pytest.raises(CompileError, match=r"output 't2'.*has elements of complex64"):
        pipeline.import_model(write(tensors, [O("RFFT2D", [0, 1], [2])], [0], [2]))


def test_shapes_that_the_file_leaves_open() -> None:
    """The file says 1 in place of open sizes; the operators say what they are."""
    wanted = constant(np.array([-1, 12], np.int32))
    open_, closed = T("float32", (1, 12), signature=(-1, 12)), T("float32", (1, 12))
    x = T("float32", FEED.shape)
    assert ran(write([x, wanted, open_], [O("RESHAPE", [0, 1], [2])], [0], [2])).shape == (4, 12)
    with pytest.raises(CompileError, match="declared"):
        pipeline.import_model(write([x, wanted, closed], [O("RESHAPE", [0, 1], [2])], [0], [2]))


def test_open_inputs_take_the_shape_that_is_given() -> None:
    tensor = T("float32", (1, 3), signature=(-1, 3), name="x")
    data = write([tensor, T("float32", (1, 3), signature=(-1, 3))], [O("NEG", [0], [1])], [0], [1])
    assert pipeline.import_model(data, shapes={"x": (4, 3)}).types["x"].shape == (4, 3)
    assert pipeline.import_model(data).types["x"].shape == (1, 3)
    for shape in ((4, 2), (0, 3), (4, 3, 1)):
        with pytest.raises(CompileError, match=r"but the file says \[-1, 3\]"):
            pipeline.import_model(data, shapes={"x": shape})
    with pytest.raises(CompileError, match="the model has no input 'y'"):
        pipeline.import_model(data, shapes={"y": (1, 3)})


def test_a_scalar_has_a_shape_without_bytes() -> None:
    tensors = [T("float32", (1,)), T("int32", (0,)), T("float32", ())]
    assert ran(write(tensors, [O("RESHAPE", [0, 1], [2])], [0], [2]), np.ones(1, np.float32)).shape == ()


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_divisions_that_round_down(dtype: str) -> None:
    a = np.array([-7, -6, -1, 0, 1, 6, 7, -(2**31), 2**31 - 1], dtype)
    for divisor in (3, -3, 2, 1, 7):
        tensors = [T(dtype, a.shape), constant(np.array([divisor], dtype)), T(dtype, a.shape)]
        found = ran(write(tensors, [O("FLOOR_DIV", [0, 1], [2])], [0], [2]), a)
        np.testing.assert_array_equal(found, np.floor_divide(a.astype(np.float64), divisor).astype(dtype))

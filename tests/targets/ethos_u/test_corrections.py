"""Rectifiers, products and softmax of 16 bits, whose factors and table Vela has otherwise than TensorFlow Lite."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.npu_cases import CASES
from tests.support.tflite_cases import Case, Draw, one, scale
from tests.support.tflite_models import O, T, write
from tests.support.tflite_runtimes import micro
from tests.support.vela import Compiled, as_compiled, compiled, results

NPU = "ethos-u55-256"
SHAPE = (1, 64, 64, 16)
"""So many elements that some are rounded otherwise with another factor."""


def relu(draw: Draw) -> bytes:
    return one("RELU", [T("int16", SHAPE, scale(draw), 0)], T("int16", SHAPE, scale(draw), 0), version=2)


def leaky_relu(draw: Draw) -> bytes:
    x, y = T("int16", SHAPE, scale(draw), 0), T("int16", SHAPE, scale(draw), 0)
    return one("LEAKY_RELU", [x], y, "LeakyReluOptions", 2, Alpha=0.1)


def square(draw: Draw) -> bytes:
    x = T("int16", SHAPE, scale(draw, 0.01, 0.02), 0)
    y = T("int16", SHAPE, scale(draw, 10.0, 20.0), 0)
    return write([x, y], [O("MUL", [0, 0], [1], "MulOptions", {}, 2)], [0], [1])


def alike(draw: Draw) -> bytes:
    """Two products whose factors differ by less than Vela's are coarse, and a rectifier between them."""
    x, a, b, y = (T("int16", SHAPE, unit, 0) for unit in (0.01, 17.0, 17.0, 17.000001))
    operators = [
        O("MUL", [0, 0], [1], "MulOptions", {}, 2),
        O("RELU", [1], [2], "", {}, 2),
        O("MUL", [0, 0], [3], "MulOptions", {}, 2),
    ]
    return write([x, a, b, y], operators, [0], [2, 3])


def softmax(draw: Draw) -> bytes:
    """Its sums reach the entries in which Vela's table is off."""
    shape = (4096, 3)
    return one("SOFTMAX", [T("int16", shape, 2e-5, 0)], T("int16", shape, 1 / 32768, 0), "SoftmaxOptions", 2, Beta=1.0)


@pytest.mark.parametrize("operator", [relu, leaky_relu, square, alike, softmax])
def test_results_are_those_of_tflite_micro(operator: Case) -> None:
    data = operator(np.random.default_rng(3))
    made, corrected = compiled(data, NPU), as_compiled(data, NPU)
    file = Compiled(corrected)
    assert file.is_whole()
    x = np.random.default_rng(4).integers(-(2**15), 2**15, file.shape(file.graph.Inputs(0))).astype(np.int16)
    wanted = micro(data, [x], file.graph.OutputsLength(), 1 << 20)
    pairs = zip(results(made, NPU, [x]), wanted, strict=True)
    assert any(not np.array_equal(*pair) for pair in pairs), "Vela has these numbers now: corrections may go"
    for found, value in zip(results(corrected, NPU, [x]), wanted, strict=True):
        assert np.array_equal(found, value)


def test_other_files_stay() -> None:
    data = CASES["conv16"](np.random.default_rng(5))
    assert as_compiled(data, NPU) == compiled(data, NPU)

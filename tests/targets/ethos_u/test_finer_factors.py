"""Rectifiers and products of 16 bits: Vela's factors have 24 bits, and TensorFlow Lite's have 31."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.npu_cases import CASES
from tests.support.tflite_cases import Case, Draw, one, scale
from tests.support.tflite_models import O, T, write
from tests.support.tflite_runtimes import micro
from tests.support.vela import Compiled, compiled, results
from tilewright.targets.ethos_u.finer_factors import with_finer_factors

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


@pytest.mark.parametrize("operator", [relu, leaky_relu, square])
def test_results_are_those_of_tflite_micro(operator: Case) -> None:
    data = operator(np.random.default_rng(3))
    made = compiled(data, NPU)
    x = np.random.default_rng(4).integers(-(2**15), 2**15, SHAPE).astype(np.int16)
    (wanted,) = micro(data, [x], 1, 1 << 20)
    corrected = with_finer_factors(data, made)
    assert not np.array_equal(results(made, NPU, [x])[0], wanted), "Vela has finer factors: corrections may go"
    assert np.array_equal(results(corrected, NPU, [x])[0], wanted)
    assert Compiled(corrected).is_whole()


def test_other_files_stay() -> None:
    data = CASES["conv16"](np.random.default_rng(5))
    made = compiled(data, NPU)
    assert with_finer_factors(data, made) is made

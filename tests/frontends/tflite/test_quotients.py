"""DIV of bytes: all pairs of them, as LiteRT divides, wherever that is defined."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.tflite_cases import one
from tests.support.tflite_models import T, constant
from tests.support.tflite_runtimes import litert
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array, limits

DRAW = np.random.default_rng(3)


def pairs(dtype: str, divisor_zero: int) -> tuple[Array, Array]:
    """All dividends, by all divisors but 0."""
    low, high = limits(dtype)
    levels = np.arange(low, high + 1)
    a, b = np.meshgrid(levels, levels[levels != divisor_zero], indexing="ij")
    return a.astype(dtype), b.astype(dtype)


def ours(data: bytes, *inputs: Array) -> Array:
    graph = pipeline.import_model(data)
    return evaluate(graph, dict(zip(graph.inputs, inputs, strict=True)))[graph.outputs[0]]


@pytest.mark.parametrize("activation", [0, 1])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_all_pairs_of_bytes(dtype: str, activation: int) -> None:
    low, _ = limits(dtype)
    for _ in range(4):
        units = [float(np.float32(unit)) for unit in DRAW.uniform((0.01, 0.01, 0.02), (0.1, 0.1, 0.3))]
        zeros = [low + int(zero) for zero in DRAW.integers(0, 256, 3)]
        a, b = pairs(dtype, zeros[1])
        tensors = [T(dtype, a.shape, unit, zero) for unit, zero in zip(units, zeros, strict=True)]
        data = one("DIV", tensors[:2], tensors[2], "DivOptions", 2, FusedActivationFunction=activation)
        found, theirs = ours(data, a, b), litert(data, [a, b])[0]
        real = (a - float(zeros[0])) * units[0] / ((b - float(zeros[1])) * units[1]) / units[2]
        defined = np.abs(real) > 0.5
        np.testing.assert_array_equal(found[defined], theirs[defined])
        assert np.all(np.abs(found[~defined].astype(int) - zeros[2]) <= 1)


def test_a_constant_divisor_is_a_table() -> None:
    x, by = np.arange(-128, 128).astype(np.int8), np.array([37], np.int8)
    a, y = T("int8", x.shape, 0.05, 3), T("int8", x.shape, 0.04, -7)
    data = one("DIV", [a, constant(by, 0.03, -5)], y, "DivOptions", 2)
    both = one("DIV", [a, T("int8", (1,), 0.03, -5)], y, "DivOptions", 2)
    assert [node.op.kind for node in pipeline.import_model(data).nodes] == ["Lookup"]
    np.testing.assert_array_equal(ours(data, x), ours(both, x, by))


def test_by_zero_it_is_the_end_of_the_range() -> None:
    x = np.array([-100, 3, 90], np.int8)
    data = one("DIV", [T("int8", (3,), 0.05, 3), T("int8", (3,), 0.03, -5)], T("int8", (3,), 0.04, -7), "DivOptions", 2)
    np.testing.assert_array_equal(ours(data, x, np.full(3, -5, np.int8)), [-128, -7, 127])

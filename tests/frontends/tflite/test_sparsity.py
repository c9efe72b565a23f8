"""Sparse constants are what TensorFlow Lite's format says they are: lists of positions, axis by axis, in any order."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.tflite_models import O, Sparse, T, write
from tilewright import pipeline
from tilewright.frontends.tflite import file
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast


def read(stored: Array, shape: tuple[int, ...], sparse: Sparse) -> Array:
    """The value of a sparse constant, as the reader has it."""
    data = write([T(stored.dtype.name, shape, value=stored, sparse=sparse)], [], [], [0])
    value = file.read(data).subgraphs[0].tensors[0].value
    assert value is not None
    return value


@pytest.mark.parametrize("vector", ["Uint8Vector", "Uint16Vector", "Int32Vector"])
def test_rows_with_listed_columns(vector: str) -> None:
    sparse = Sparse([0, 1], [3, ([0, 2, 2, 3], [0, 3, 1])], vector=vector)
    found = read(np.array([5, 6, 7], np.int8), (3, 4), sparse)
    np.testing.assert_array_equal(found, [[5, 0, 0, 6], [0, 0, 0, 0], [0, 7, 0, 0]])


def test_columns_first() -> None:
    sparse = Sparse([1, 0], [2, ([0, 1, 3], [2, 0, 1])])
    found = read(np.array([1, 2, 3], np.float32), (3, 2), sparse)
    np.testing.assert_array_equal(found, [[0, 2], [0, 3], [1, 0]])


def test_blocks() -> None:
    """Blocks of 2 x 2: of the two in a row, one is listed."""
    sparse = Sparse([0, 1, 2, 3], [2, ([0, 1, 2], [1, 0]), 2, 2], blocks=[0, 1])
    found = read(np.arange(1, 9, dtype=np.float16), (4, 4), sparse)
    np.testing.assert_array_equal(found, [[0, 0, 1, 2], [0, 0, 3, 4], [5, 6, 0, 0], [7, 8, 0, 0]])


def test_a_network_with_densify() -> None:
    weights = T("float32", (2, 3), value=np.array([4, 5], np.float32), sparse=Sparse([0, 1], [2, ([0, 1, 2], [1, 2])]))
    x, dense = T("float32", (2, 3)), T("float32", (2, 3))
    data = write([x, weights, dense, x], [O("DENSIFY", [1], [2]), O("MUL", [0, 2], [3], "MulOptions")], [0], [3])
    graph = pipeline.import_model(data)
    values = evaluate(graph, {graph.inputs[0]: np.ones((2, 3), np.float32)})
    np.testing.assert_array_equal(values[graph.outputs[0]], [[0, 4, 0], [0, 0, 5]])

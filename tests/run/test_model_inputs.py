"""Inputs that are made up suit the model: indices are positions that exist."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from tests.support.models import model, node
from tilewright import pipeline
from tilewright.run.model_inputs import made_up_inputs

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("shape", [(), (40,), (2, 30)])
def test_indices_of_a_one_hot_are_below_its_depth(shape: tuple[int, ...]) -> None:
    constants = {"depth": np.int64(7), "values": np.array([0, 1], np.float32)}
    one_hot = node("OneHot", "i depth values", "y", axis=0)
    graph = pipeline.import_model(model([one_hot], {"i": shape}, ["y"], constants, TensorProto.INT64))
    made = made_up_inputs(graph, 0)["i"]
    assert made.shape == shape
    assert 0 <= made.min() <= made.max() < 7
    assert made.size < 30 or made.max() > 2, "all positions are met"


def test_indices_of_a_gather_are_places_along_its_axis() -> None:
    table = {"x": np.zeros((90, 3), np.float32)}
    graph = pipeline.import_model(
        model([node("Gather", "x i", "y", axis=1)], {"i": (50,)}, ["y"], table, TensorProto.INT64)
    )
    assert set(made_up_inputs(graph, 0)["i"].tolist()) == {0, 1, 2}

"""Floats quantised by their range: the chain of operators that one stands for, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

from tests.support.models import model, node
from tilewright import pipeline
from tilewright.ir.types import Shape
from tilewright.passes.ranges.quantised_range import QUANTISED_RANGES


def spelt_out(shape: Shape) -> ModelProto:
    """DynamicQuantizeLinear as it is defined, with numbers of a shape."""
    numbers = {"nil": np.zeros(shape, np.float32), "steps": np.full(shape, 255, np.float32)}
    nodes = [
        node("ReduceMax", "x", "a", keepdims=0), node("Max", "a nil", "high"),
        node("ReduceMin", "x", "b", keepdims=0), node("Min", "b nil", "low"),
        node("Sub", "high low", "width"), node("Div", "width steps", "scale"),
        node("Div", "low scale", "d"), node("Sub", "nil d", "e"), node("Clip", "e least most", "f"),
        node("Round", "f", "g"), node("Cast", "g", "zero", to=TensorProto.UINT8),
        node("QuantizeLinear", "x scale zero", "y"),
    ]  # fmt: skip
    constants = {**numbers, "least": np.asarray(0, np.float32), "most": np.asarray(255, np.float32)}
    return model(nodes, {"x": (3, 8)}, ["y", "scale", "zero"], constants)


@pytest.mark.fast
@pytest.mark.parametrize(("shape", "is_one"), [((), True), ((1,), False)])
def test_results_keep_their_shapes(shape: Shape, is_one: bool) -> None:
    graph = pipeline.import_model(spelt_out(shape))
    made = QUANTISED_RANGES.run(graph)
    assert [made.types[name] for name in made.outputs] == [graph.types[name] for name in graph.outputs]
    assert (len(made.nodes) < len(graph.nodes)) == is_one

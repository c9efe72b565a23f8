"""Convolutions over three axes mean what ONNX Runtime computes, also where they are sums of ones over two."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.models import model, node
from tests.support.quantiser import run_onnxruntime
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate

PADS = {
    "inside": (0, 1, 0, 0, 1, 0), "around": (1, 1, 1, 1, 1, 1), "before": (2, 0, 1, 0, 1, 0), "far": (4, 0, 0, 4, 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("pads", PADS.values(), ids=PADS)
@pytest.mark.parametrize(
    ("strides", "dilations"), [((1, 1, 1), (1, 1, 1)), ((1, 2, 1), (2, 1, 2)), ((2, 1, 2), (1, 2, 1))]
)
@pytest.mark.parametrize("filters", [1, 2])
def test_a_filter_for_each_channel(
    pads: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...], filters: int
) -> None:
    random, channels = np.random.default_rng(4), 3
    x = random.normal(size=(2, channels, 6, 7, 5)).astype(np.float32)
    constants = {
        "w": random.normal(size=(channels * filters, 1, 3, 3, 2)).astype(np.float32),
        "b": random.normal(size=channels * filters).astype(np.float32),
    }
    attributes = {"group": channels, "pads": pads, "strides": strides, "dilations": dilations}
    made = model([node("Conv", "x w b", "y", **attributes)], {"x": x.shape}, ["y"], constants)
    wanted = run_onnxruntime(made, {"x": x})["y"]
    graph = pipeline.import_model(made)
    found = evaluate(graph, {"x": x})[graph.outputs[0]]
    assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()

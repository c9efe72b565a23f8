"""Networks that our quantiser has quantised, as ONNX: each layer of the C is within a step of ONNX Runtime's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.e2e.test_qdq import quantised_names
from tests.export.round_trip import run
from tests.support.agreement import Tally, layer_by_layer, sample, samples_of
from tests.support.models import model, node
from tests.support.networks import models
from tests.support.quantiser import Style, quantise, run_integer_kernels, run_onnxruntime
from tests.support.stand_ins import Network, float_classifier, network_id
from tilewright import pipeline
from tilewright.export import model_of
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.passes import apply
from tilewright.quantiser.quantise import Options
from tilewright.quantiser.quantise import quantise as quantised

NETWORKS = [
    float_classifier,
    *models("mlperf_tiny/ad01_fp32.tflite"),
    *models("mlperf_tiny/kws_ref_model_float32.tflite"),
    *models("qdq/dscnn_kws/fp32.onnx"),
    *models("peer/Models/CCT/FP32/CCT_1_16_16_8/network.onnx"),
]


def noise(graph: Graph) -> dict[str, Array]:
    draw = np.random.default_rng(1)
    return {name: draw.standard_normal((8, *graph.types[name].shape)).astype(np.float32) for name in graph.inputs}


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("network", NETWORKS, ids=network_id)
def test_each_layer_is_within_a_step_of_onnxruntime(network: Network) -> None:
    """Of its floats between quantisers, and of its kernels of integers."""
    floats = pipeline.import_model(network if isinstance(network, Path) else network())
    samples = samples_of(network, floats) if isinstance(network, Path) else noise(floats)
    made = model_of(quantised(floats, samples, Options(processes=1)).graph)
    imported = pipeline.import_model(made)
    graph = apply(imported, pipeline.QUANTISING)
    feeds = sample(samples, 0)
    for wanted in (run_onnxruntime(made, feeds), run_integer_kernels(made, feeds)):
        tally = Tally()
        tally.add(quantised_names(made), layer_by_layer(graph, feeds, wanted), wanted)
        assert len(tally.elements) >= len(quantised_names(made)) // 2
        assert tally.broken(samples=1) == []


def test_biases_behind_products_of_more_than_two_axes() -> None:
    """ONNX Runtime (1.31) refuses them as lists, when it has made the signed bytes around them unsigned."""
    random = np.random.default_rng(0)
    constants = {"w": random.standard_normal((16, 9)).astype(np.float32), "b": np.ones(9, np.float32)}
    nodes = [node("MatMul", "x w", "p"), node("Add", "p b", "s"), node("Relu", "s", "y")]
    feeds = {"x": random.standard_normal((2, 5, 16)).astype(np.float32)}
    plain = quantise(model(nodes, {"x": (2, 5, 16)}, ["y"], constants, opset=21), feeds, Style(skip=("p", "s")))
    made = model_of(pipeline.import_model(plain))
    found, wanted = run(made, feeds), run(plain, feeds, optimised=False)
    step = 1.01 * float(np.ptp(wanted["y_d"])) / 255
    assert np.abs(found["y_d"] - wanted["y_d"]).max() <= step


@pytest.mark.parametrize(("length", "scale"), [(200, 1 / 16384), (64, 1 / 16384), (8, 1 / 256), (1, 1 / 256)])
def test_shares_that_are_quantised_finely(length: int, scale: float) -> None:
    """ONNX Runtime's kernel of bytes (1.31) gives zeros for them, so that it must not be used; ours is."""
    random = np.random.default_rng(0)
    constants = {"s": np.float32(0.01), "z": np.int8(0), "t": np.float32(scale), "u": np.int8(-128)}
    nodes = [
        node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"),
        node("Softmax", "d", "p", axis=-1),
        node("QuantizeLinear", "p t u", "r"), node("DequantizeLinear", "r t u", "y"),
    ]  # fmt: skip
    graph = pipeline.import_model(model(nodes, {"x": (3, length)}, ["y"], constants, opset=21))
    made = model_of(graph)
    feeds = {"x": random.standard_normal((3, length)).astype(np.float32)}
    wanted = evaluate(graph, feeds)["y"]
    assert wanted.any()
    assert np.abs(run(made, feeds)["y"] - wanted).max() <= 1.01 * scale
    kinds = [each.op.kind for each in apply(pipeline.import_model(made), pipeline.QUANTISING).nodes]
    assert kinds == ["QuantizeLinear", "QLinearSoftmax", "DequantizeLinear"]

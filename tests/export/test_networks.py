"""Float networks as ONNX: read again they are equal, and ONNX Runtime agrees; as imported and as targets want them."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.export.round_trip import check_round_trip, random_feeds, run
from tests.support.checks import same
from tests.support.networks import models
from tests.support.stand_ins import (
    Network,
    float_autoencoder,
    float_classifier,
    float_transformer,
    network_id,
    quantised_classifier,
)
from tilewright import pipeline
from tilewright.export import model_of
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph

TOLERANCE = 1e-4

MADE = [float_autoencoder, float_classifier, float_transformer]
TRAINED = [
    *(path for path in models("peer/Kernels/FP32/**/*.onnx") if "CrossEntropy" not in str(path)),
    *models("peer/Models/CCT/FP32/**/*.onnx"),
    *models("peer/Models/TinyViT/**/*.onnx"),
    *models("peer/Models/microLlama/FP32/**/*.onnx"),
    *models("qdq/*/fp32.onnx"),
    *models("mlperf_tiny/*fp32.tflite"),
    *models("mlperf_tiny/*float*.tflite"),
    *models("mlperf_tiny/pretrainedResnet.tflite"),
]
QUANTISED = [
    quantised_classifier, *(path for path in models("qdq/*/int8.onnx") if "mbv2" not in str(path))
]  # fmt: skip
LOWERED = [*MADE, *(path for path in TRAINED if path.suffix == ".tflite" or "Models" in str(path))]


def imported(network: Network) -> Graph:
    return pipeline.import_model(network if isinstance(network, Path) else network())


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("network", [*MADE, *TRAINED], ids=network_id)
def test_float_network(network: Network) -> None:
    graph = imported(network)
    # Of channels last numpy sums in another order than of what they become between two transposes.
    exact = not any(getattr(node.op, "channels_last", False) for node in graph.nodes)
    check_round_trip(graph, random_feeds(graph), TOLERANCE, exact)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("network", QUANTISED, ids=network_id)
def test_quantised_network_is_read_again_as_it_was(network: Network) -> None:
    graph = imported(network)
    again = pipeline.import_model(model_of(graph))
    assert [(node.op, node.outputs) for node in again.nodes] == [(node.op, node.outputs) for node in graph.nodes]
    feeds = random_feeds(graph)
    found, wanted = evaluate(again, feeds), evaluate(graph, feeds)
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted if name not in graph.constants)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("target", ["generic", "siracusa"])
@pytest.mark.parametrize("network", LOWERED, ids=network_id)
def test_network_as_a_target_wants_it(network: Network, target: str) -> None:
    """With activations, biases and transposes folded in, and channels last."""
    graph = _lowered(imported(network), target)
    feeds = random_feeds(graph)
    values, ran = evaluate(graph, feeds), run(model_of(graph), feeds)
    for tensor, name in zip(graph.outputs, graph.output_names, strict=True):
        same(ran[name], values[tensor], TOLERANCE)


def _lowered(graph: Graph, target: str) -> Graph:
    at = pipeline.STAGES.index("lowered")
    return next(islice(pipeline.stages(graph, target), at, None))

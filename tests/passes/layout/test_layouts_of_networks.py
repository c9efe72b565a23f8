"""Whole integer networks give the same bits in the layouts that accelerated targets want."""

from __future__ import annotations

import numpy as np
import pytest

from tests.e2e.test_peer_integer import NETWORKS, load
from tests.passes.small import changed_by, kinds, transposed_bytes
from tests.support import dialect
from tests.support.stand_ins import Network, network_id
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ops.matmul import MatMul
from tilewright.passes import apply
from tilewright.passes.layout.absorb_transposes import ABSORB_TRANSPOSES, reads_neighbours
from tilewright.passes.layout.channels_last import CHANNELS_LAST
from tilewright.passes.layout.transpose_weights import TRANSPOSE_WEIGHTS

LAYOUTS = (CHANNELS_LAST, ABSORB_TRANSPOSES, TRANSPOSE_WEIGHTS)

BOUNDARY = {
    "cnn": 297,
    "transformer": 0,
    "peer/Models/MLPerf/ImageClassification": 3072,
    "peer/Models/MLPerf/KeywordSpotting": 0,
    "peer/Models/miniMobileNet": 192,
    "peer/Models/CNN_Linear2": 3072,
    "peer/Models/CCT/Int/ICCT": 3072,
    "peer/Models/EEGFormer": 0,
    "peer/Models/microLlama/INT8/microLlama64": 0,
    "peer/Models/microLlama/INT8/microLlama64_parallel": 0,
}
"""Bytes that are transposed: those of the input, where it has several channels."""


def weights_are_neighbours(graph: Graph) -> bool:
    return all(
        reads_neighbours(node.op, position, graph.types[node.inputs[position]].shape)
        for node in graph.nodes
        if isinstance(node.op, MatMul)
        for position in (0, 1)
        if node.inputs[position] in graph.constants
    )


@pytest.mark.parametrize(("build", "transposes"), [(dialect.cnn, 1), (dialect.transformer, 0)])
def test_networks_of_the_dialect(build: object, transposes: int) -> None:
    model, outputs = build(3)  # type: ignore[operator]
    graph = pipeline.import_model(model.proto(*outputs), example_inputs=model.inputs)
    changed = changed_by(apply(graph, pipeline.PASSES), *LAYOUTS)
    assert weights_are_neighbours(changed)
    assert kinds(changed).count("Transpose") == transposes


@pytest.mark.one_in(3)
@pytest.mark.parametrize("network", NETWORKS, ids=network_id)
def test_integer_networks(network: Network) -> None:
    graph, feeds, outputs = load(network)
    lowered = pipeline.stage(graph, "generic", "lowered")
    changed = apply(lowered, LAYOUTS)
    found = evaluate(changed, feeds)
    for tensor, wanted in zip(changed.outputs, outputs, strict=True):
        np.testing.assert_array_equal(found[tensor].astype(np.float64), wanted)
    assert weights_are_neighbours(changed)
    if network_id(network) in BOUNDARY:
        assert transposed_bytes(changed) == BOUNDARY[network_id(network)]

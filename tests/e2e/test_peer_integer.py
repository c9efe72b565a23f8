"""Integer networks that others exported: reference and compiled C give the stored outputs to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import dialect
from tests.support.checks import check_graph
from tests.support.networks import models, stored
from tests.support.stand_ins import Network, network_id
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array

FOLDERS = ("Kernels/Integer", "Models/CCT/Int", "Models/CNN_Linear2", "Models/EEGFormer", "Models/MLPerf",
           "Models/microLlama/INT8", "Models/miniMobileNet")  # fmt: skip

DTYPES = {"peer/Kernels/Integer/ReduceMean": {"input_0": "int8"}}
"""Nothing in these graphs proves that they work on integers, and floats would round differently."""

NETWORKS: list[Network] = [
    dialect.cnn, dialect.transformer,
    *(path for folder in FOLDERS for path in models(f"peer/{folder}/**/network.onnx")),
]  # fmt: skip


def load(network: Network) -> tuple[Graph, dict[str, Array], list[Array]]:
    """A network, its inputs in the types of the graph, and the stored outputs."""
    model: Any = network
    if isinstance(network, Path):
        inputs, outputs = stored(network)
    else:
        made, names = network()
        model, inputs, outputs = made.proto(*names), made.inputs, [made.values[name] for name in names]
    graph = pipeline.import_model(model, example_inputs=inputs, dtypes=DTYPES.get(network_id(network), {}))
    feeds = {name: array.astype(graph.types[name].dtype) for name, array in inputs.items()}
    for name, array in inputs.items():
        np.testing.assert_array_equal(feeds[name], array)
    return graph, feeds, outputs


@pytest.mark.parametrize("network", NETWORKS, ids=network_id)
def test_reference(network: Network) -> None:
    graph, feeds, outputs = load(network)
    found = evaluate(graph, feeds)
    for tensor, wanted in zip(graph.outputs, outputs, strict=True):
        np.testing.assert_array_equal(found[tensor].astype(np.float64), wanted)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("network", NETWORKS, ids=network_id)
def test_compiled(network: Network) -> None:
    graph, feeds, _ = load(network)
    check_graph(graph, feeds, tolerance=0)

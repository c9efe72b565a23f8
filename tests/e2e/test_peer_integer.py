"""Integer networks that others exported: reference and compiled C give the stored outputs to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.checks import check_graph
from tests.support.networks import label, models, needs_networks, stored
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array

pytestmark = needs_networks

FOLDERS = ("Kernels/Integer", "Models/CCT/Int", "Models/CNN_Linear2", "Models/EEGFormer", "Models/MLPerf",
           "Models/microLlama/INT8", "Models/miniMobileNet")  # fmt: skip

DTYPES = {"peer/Kernels/Integer/ReduceMean": {"input_0": "int8"}}
"""Nothing in these graphs proves that they work on integers, and floats would round differently."""

NETWORKS = [path for folder in FOLDERS for path in models(f"peer/{folder}/**/network.onnx")]


def load(path: Path) -> tuple[Graph, dict[str, Array], list[Array]]:
    """A network, its inputs in the types of the graph, and the stored outputs."""
    inputs, outputs = stored(path)
    graph = pipeline.import_model(path, example_inputs=inputs, dtypes=DTYPES.get(label(path), {}))
    feeds = {name: array.astype(graph.types[name].dtype) for name, array in inputs.items()}
    for name, array in inputs.items():
        np.testing.assert_array_equal(feeds[name], array)
    return graph, feeds, outputs


@pytest.mark.parametrize("path", NETWORKS, ids=label)
def test_reference(path: Path) -> None:
    graph, feeds, outputs = load(path)
    found = evaluate(graph, feeds)
    for tensor, wanted in zip(graph.outputs, outputs, strict=True):
        np.testing.assert_array_equal(found[tensor].astype(np.float64), wanted)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("path", NETWORKS, ids=label)
def test_compiled(path: Path) -> None:
    graph, feeds, _ = load(path)
    check_graph(graph, feeds, tolerance=0)

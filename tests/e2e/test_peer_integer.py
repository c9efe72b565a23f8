"""Integer networks that others exported: reference and compiled C give the stored outputs to the bit."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.checks import check_graph
from tilewright import pipeline
from tilewright.evaluate import evaluate
from tilewright.inputs import match
from tilewright.ir import Graph
from tilewright.types import Array

ROOT = Path(os.environ.get("TILEWRIGHT_NETWORKS", Path(__file__).parents[2].parent / "shared" / "networks")) / "peer"

FOLDERS = ("Kernels/Integer", "Models/CCT/Int", "Models/CNN_Linear2", "Models/EEGFormer", "Models/MLPerf",
           "Models/microLlama/INT8", "Models/miniMobileNet")  # fmt: skip

DTYPES = {"Kernels/Integer/ReduceMean": {"input_0": "int8"}}
"""Nothing in these graphs proves that they work on integers, and floats would round differently."""


def networks() -> list[str]:
    found = (path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("network.onnx"))
    return sorted(str(path.relative_to(ROOT)) for path in found) if ROOT.is_dir() else []


pytestmark = pytest.mark.skipif(
    not networks(), reason=f"no networks in {ROOT}; TILEWRIGHT_NETWORKS says where they are"
)


def load(name: str) -> tuple[Graph, dict[str, Array], list[Array]]:
    """A network, its inputs in the types of the graph, and the stored outputs."""
    inputs, outputs = (dict(np.load(ROOT / name / f"{kind}.npz")) for kind in ("inputs", "outputs"))
    graph = pipeline.import_model(ROOT / name / "network.onnx", samples=inputs, dtypes=DTYPES.get(name, {}))
    feeds = {}
    for tensor, array in match(graph.inputs, inputs, name).items():
        feeds[tensor] = array.astype(graph.types[tensor].dtype)
        np.testing.assert_array_equal(feeds[tensor], array)
    return graph, feeds, list(outputs.values())


@pytest.mark.fast
@pytest.mark.parametrize("name", networks())
def test_reference(name: str) -> None:
    graph, feeds, outputs = load(name)
    found = evaluate(graph, feeds)
    for tensor, wanted in zip(graph.outputs, outputs, strict=True):
        np.testing.assert_array_equal(found[tensor].astype(np.float64), wanted)


@pytest.mark.parametrize("name", networks())
def test_compiled(name: str) -> None:
    graph, feeds, _ = load(name)
    check_graph(graph, feeds, tolerance=0)

"""Networks in the integer dialect, from ONNX to compiled C."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support import dialect
from tests.support.checks import check_graph
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.passes import apply
from tilewright.passes.fuse_bias import FUSE_BIAS
from tilewright.passes.fuse_requant import FUSE_REQUANT

Build = Callable[[int], tuple[dialect.Model, list[str]]]


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("build", [dialect.cnn, dialect.transformer])
def test_compiled_with_sums_fused(build: Build) -> None:
    """As they are imported, `test_peer_integer.py` compiles them."""
    model, outputs = build(5)
    graph = pipeline.import_model(model.proto(*outputs), example_inputs=model.inputs)
    graph = apply(graph, (FUSE_BIAS, FUSE_REQUANT))
    feeds = {name: array.astype(graph.types[name].dtype) for name, array in model.inputs.items()}
    found = evaluate(graph, feeds)
    for tensor, name in zip(graph.outputs, outputs, strict=True):
        np.testing.assert_array_equal(found[tensor], model.values[name])
    check_graph(graph, feeds)

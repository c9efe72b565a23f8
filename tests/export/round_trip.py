"""A graph written as ONNX, read again, and run by ONNX Runtime: all three compute the same."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime

from tests.support.checks import same
from tilewright import pipeline
from tilewright.export import model_of
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array

Feeds = Mapping[str, Array]
TOLERANCE = 1e-5
"""Of floats, relative to the scale of the output."""


def check_round_trip(
    graph: Graph, feeds: Feeds, tolerance: float = TOLERANCE, exact: bool = True, optimised: bool = True
) -> onnx.ModelProto:
    """The model; what it gives when it is read again is equal, `exact` or within the tolerance."""
    model = model_of(graph)
    values = evaluate(graph, feeds)
    again = pipeline.import_model(model)
    assert (again.inputs, again.output_names) == (graph.inputs, graph.output_names)
    found = evaluate(again, feeds)
    ran = run(model, feeds, optimised)
    for ours, theirs, name in zip(graph.outputs, again.outputs, graph.output_names, strict=True):
        same(found[theirs], values[ours], 0.0 if exact else tolerance)
        same(ran[name], values[ours], tolerance)
    return model


def run(model: onnx.ModelProto, feeds: Feeds, optimised: bool = True) -> dict[str, Array]:
    """What ONNX Runtime makes of a model. Its optimisations round the other factor of quantised weights to bytes."""
    options = onnxruntime.SessionOptions()
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return {name: np.asarray(value) for name, value in zip(names, session.run(None, dict(feeds)), strict=True)}


def random_feeds(graph: Graph, seed: int = 0) -> dict[str, Array]:
    """Floats around 0, small positive integers."""
    random = np.random.default_rng(seed)
    return {name: _random(random, graph.types[name].shape, graph.types[name].element) for name in graph.inputs}


def _random(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Array:  # type: ignore[type-arg]
    if dtype.kind in "iub":
        return random.integers(0, 2 if dtype.kind == "b" else 5, shape).astype(dtype)
    return random.standard_normal(shape).astype(np.float32).astype(dtype)

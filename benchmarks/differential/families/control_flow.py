"""Loops that data ends and branches that data takes, within each other."""

from __future__ import annotations

from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices, Dull
from benchmarks.differential.runtimes import module, onnx_runtime
from tests.support.control_flow import _Network

MOST_TURNS = 6


def draw(choices: Choices, room: int) -> Case:
    model, feeds = _Network(choices).model()  # type: ignore[arg-type]
    values = onnx_runtime(model, feeds)
    if values is None and module("onnxruntime"):
        raise Dull("no runtime takes the graph")
    names = [output.name for output in model.graph.output]
    # A loop that data ends has as many rows here as it may have turns.
    expected = dict(list(zip(names, values, strict=True))[:-1]) if values else {}
    return Case(model.SerializeToString(), feeds, expected, options={"max_trips": MOST_TURNS})

"""Float networks with stored outputs: the C is within tolerance of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright as tw
from tests.support.checks import same
from tests.support.networks import label, models, needs_networks, stored
from tilewright.planner.schedule.interpret import interpret

TOLERANCE = 1e-4
"""Relative to the scale of the output."""

FLOAT = [
    *models("peer/Kernels/FP32/**/*.onnx"),
    *models("peer/Kernels/Mixed/**/*.onnx"),
    *models("peer/Models/CCT/FP32/**/*.onnx"),
    *models("peer/Models/TinyViT/**/*.onnx"),
    *models("peer/Models/Transformer_DeepQuant/*.onnx"),
    *models("peer/Models/microLlama/FP32/**/*.onnx"),
    *models("qdq/*/fp32.onnx"),
]

CONTRADICTORY = "Softmax/CrossEntropy"
"""A training node whose first output is declared as its second."""


@pytest.mark.one_in(3)
@needs_networks
@pytest.mark.parametrize("path", FLOAT, ids=label)
def test_network(path: Path) -> None:
    if CONTRADICTORY in str(path):
        with pytest.raises(tw.CompileError, match="declared with shape"):
            tw.compile(path)
        return
    inputs, expected = stored(path)
    program = tw.compile(path)
    check = program.check(inputs, dict(zip(program.graph.output_names, expected, strict=True)), tolerance=TOLERANCE)
    assert check.agrees, [found.as_dict() for found in check.outputs]
    feeds = {name: inputs[name].astype(program.graph.types[name].dtype) for name in program.graph.inputs}
    stepped = interpret(program.compiled.schedule, feeds)
    for tensor, value in zip(stepped, check.result.outputs.values(), strict=True):
        same(stepped[tensor], value, TOLERANCE)

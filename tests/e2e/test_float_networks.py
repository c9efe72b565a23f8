"""Float networks with stored outputs: the C is within tolerance of them."""

from __future__ import annotations

import pytest

import tilewright as tw
from tests.support.checks import same
from tests.support.networks import models
from tests.support.stand_ins import (
    Network,
    float_classifier,
    float_transformer,
    given_and_wanted,
    network_id,
    onnx_model,
)
from tilewright.planner.schedule.interpret import interpret

TOLERANCE = 1e-4
"""Relative to the scale of the output."""

FLOAT = [
    float_classifier,
    float_transformer,
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


@pytest.mark.in_turns(3)
@pytest.mark.one_in(3, first=1)
@pytest.mark.parametrize("network", FLOAT, ids=network_id)
def test_network(network: Network) -> None:
    if CONTRADICTORY in network_id(network):
        with pytest.raises(tw.CompileError, match="declared with shape"):
            tw.compile(onnx_model(network))
        return
    inputs, expected = given_and_wanted(network)
    program = tw.compile(onnx_model(network))
    check = program.check(inputs, dict(zip(program.graph.output_names, expected, strict=True)), tolerance=TOLERANCE)
    assert check.agrees, [found.as_dict() for found in check.outputs]
    feeds = {name: inputs[name].astype(program.graph.types[name].dtype) for name in program.graph.inputs}
    stepped = interpret(program.compiled.schedule, feeds)
    for tensor, value in zip(stepped, check.result.outputs.values(), strict=True):
        same(stepped[tensor], value, TOLERANCE)

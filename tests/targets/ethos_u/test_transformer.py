"""A transformer that our quantiser has made int8, on a board with an NPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.quantised_zoo.layers import encoder_layer
from benchmarks.zoo_net import Net

from tilewright import pipeline
from tilewright.export import save
from tilewright.program import compile_model
from tilewright.quantiser.quantise import Options, quantise

FAST = Options(correct_bias=False, balance=False, integer_cells=False)
TOKENS, WIDTH = 20, 64


@pytest.mark.in_turns(10)
def test_all_products_are_on_the_npu(tmp_path: Path) -> None:
    pytest.importorskip("ethosu.vela", reason="pip install 'tilewright[ethos-u]'")
    net = Net(1)
    model = net.model(encoder_layer(net, net.input(1, TOKENS, WIDTH), TOKENS, WIDTH, 2, 4 * WIDTH))
    samples = np.random.default_rng(2).normal(0, 1, (4, TOKENS, WIDTH)).astype(np.float32)
    save(quantise(pipeline.import_model(model), samples, FAST).graph, tmp_path / "int8.onnx", False)
    made = compile_model(tmp_path / "int8.onnx", target="cortex-m33+u55-128")
    reference, lowered = made.compiled.quantised, made.compiled.lowered
    total = sum(map(reference.macs, reference.nodes))
    on_npu = sum(node.op.macs({}) for node in lowered.nodes if node.op.kind == "EthosU")
    assert on_npu == total > 0
    given = dict.fromkeys(made.graph.inputs, samples[:1])
    found, wanted = made.run(given).outputs, made.reference(given)
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)

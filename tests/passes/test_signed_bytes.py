"""Quantisers of uint8 become those of int8, and no number changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

from tests.support.models import model, node
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.passes import apply
from tilewright.passes.signed_bytes import SIGNED_BYTES

RNG = np.random.default_rng(8)
SHAPE = (1, 3, 8, 8)


def unsigned() -> ModelProto:
    """Bytes come in, are pooled as they are, and one result is bytes; weights have a zero point, too."""
    scales = {"xs": 0.02, "ws": 0.01, "ys": 0.03}
    constants: dict[str, Any] = {name: np.float32(value) for name, value in scales.items()}
    constants |= {"xz": np.uint8(113), "wz": np.uint8(90), "yz": np.uint8(120)}
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"), node("DequantizeLinear", "w ws wz", "wf"),
        node("Conv", "xf wf", "c", pads=[1, 1, 1, 1]), node("QuantizeLinear", "c ys yz", "cq"),
        node("DequantizeLinear", "cq ys yz", "cf"), node("MaxPool", "cq", "pooled", kernel_shape=[2, 2]),
        node("DequantizeLinear", "pooled ys yz", "pf"),
        node("Relu", "cf", "r"), node("QuantizeLinear", "r ys yz", "rq"), node("DequantizeLinear", "rq ys yz", "rf"),
        node("Conv", "rf wf", "d"), node("QuantizeLinear", "d ys yz", "dq"),
    ]  # fmt: skip
    weights = RNG.integers(0, 256, (3, 3, 3, 3)).astype(np.uint8)
    return model(nodes, {"x": SHAPE}, ["pf", "dq"], {**constants, "w": weights}, TensorProto.UINT8, 13)


def test_numbers_stay() -> None:
    graph = pipeline.import_model(unsigned())
    made = apply(graph, [SIGNED_BYTES])
    given = {"x": RNG.integers(0, 256, SHAPE).astype(np.uint8)}
    for name, wanted in evaluate_outputs(graph, given).items():
        assert np.array_equal(evaluate_outputs(made, given)[name], wanted), name
    assert made.types["rq"].dtype == "int8"
    assert {made.types[name].dtype for name in ("x", "pooled", "dq")} == {"uint8"}


@pytest.mark.in_turns(3)
def test_an_ethos_u_computes_unsigned_layers() -> None:
    pytest.importorskip("ethosu.vela", reason="pip install 'tilewright[ethos-u]'")
    made = pipeline.stage(pipeline.import_model(unsigned()), "cortex-m55+u55-128", "lowered")
    layers = [one for one in made.nodes if made.macs(one)]
    assert {one.op.kind for one in layers} == {"EthosU"}

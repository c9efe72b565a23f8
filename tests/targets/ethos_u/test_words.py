"""QDQ networks with activations of 16 bits: layers are the NPU's, with TensorFlow Lite's factors of 16 bits."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.zoo_net import Net
from onnx import ModelProto, TensorProto

import tilewright
from tilewright.ops._ethosu import EthosU
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul

REASON = "pip install 'tilewright[ethos-u]'"
TARGETS = ("cortex-m33+u55-128", "cortex-m33+u65-512")


class Words(Net):
    """Layers whose results are quantised to int16."""

    def dequantised(self, name: str, scale: float, **attributes: int) -> str:
        zero = self.constant(0, "int16")
        return self("DequantizeLinear", name, self.constant(scale), zero, **attributes)

    def quantised(self, real: str, scale: float) -> str:
        name = self("QuantizeLinear", real, self.constant(scale), self.constant(0, "int16"))
        return self.dequantised(name, scale)

    def filters(self, *shape: int) -> str:
        count = shape[0]
        scales = self.constant(self.random.uniform(0.2, 1.0, count) / 100 / np.sqrt(np.prod(shape[1:])))
        values = self.constant(self.random.integers(-127, 128, shape), "int8")
        return self("DequantizeLinear", values, scales, self.constant(np.zeros(count), "int8"), axis=0)


def images() -> ModelProto:
    net = Words(1)
    x = net.dequantised(net.input(1, 3, 12, 10, dtype=TensorProto.INT16), 2**-12)
    x = net("Conv", x, net.filters(8, 3, 3, 3), net.constant(net.random.normal(0, 0.1, 8)), pads=[1, 1, 1, 1])
    x = net.quantised(net("Relu", x), 2**-14)
    x = net.quantised(net("Conv", x, net.filters(8, 1, 3, 3), group=8, strides=[2, 2], pads=[1, 1, 0, 0]), 2**-15)
    x = net.quantised(net("Conv", x, net.filters(12, 8, 1, 1)), 2**-17)
    return net.model(net("QuantizeLinear", x, net.constant(2**-17), net.constant(0, "int16")))


def rows() -> ModelProto:
    net = Words(2)
    x = net.dequantised(net.input(5, 24, dtype=TensorProto.INT16), 2**-13)
    weights = net.constant(net.random.integers(-127, 128, (24, 16)), "int8")
    real = net("DequantizeLinear", weights, net.constant(0.002), net.constant(0, "int8"))
    x = net.quantised(net("MatMul", x, real), 2**-13)
    return net.model(net("QuantizeLinear", net("Relu", x), net.constant(2**-13), net.constant(0, "int16")))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", [images, rows])
def test_layers_of_words_are_the_npus(model: object, target: str) -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    made = tilewright.compile(model(), target=target)  # type: ignore[operator]
    ops = [call.node.op for call in made.compiled.schedule.layers]
    assert any(isinstance(op, EthosU) for op in ops)
    assert not any(isinstance(op, Conv | MatMul) for op in ops)
    graph = made.graph
    for seed in range(3):
        draws = np.random.default_rng(seed)
        given = {name: draws.integers(-(2**15), 2**15, graph.types[name].shape, np.int16) for name in graph.inputs}
        run, wanted = made.run(given), made.reference(given)
        assert all(np.array_equal(values, wanted[name]) for name, values in run.outputs.items())
    assert made.check().agrees

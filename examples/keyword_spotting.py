"""Builds a quantised keyword-spotting network (DS-CNN, int8 QDQ, random weights): python keyword_spotting.py kws.onnx

The shape is that of the MLPerf Tiny benchmark: 49 frames of 10 coefficients in, scores of 12 words out, 2.7 M MAC. A
second argument is the number of bits of a weight, 2 to 8; all are stored as int8.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INPUT_SCALE, ACTIVATION_SCALE, SCORE_SCALE, CHANNELS, WORDS = 0.03, 0.025, 0.05, 64, 12


class Network:
    """Adds quantised layers one after another; `tensor` is the last one, as floats."""

    def __init__(self, source: str, weight_bits: int = 8) -> None:
        self.most = 2 ** (weight_bits - 1) - 1
        self.random = np.random.default_rng(7)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.tensor = source
        self.quantise("features", INPUT_SCALE, 0)

    def quantise(self, name: str, scale: float, zero_point: int) -> None:
        """QuantizeLinear, DequantizeLinear; the integers are the tensor of that name."""
        parameters = [
            self.constant(f"{name}.scale", np.float32(scale)),
            self.constant(f"{name}.zero", np.int8(zero_point)),
        ]
        self.add("QuantizeLinear", name, [self.tensor, *parameters])
        self.tensor = self.add("DequantizeLinear", f"{name}.float", [name, *parameters])

    def conv(
        self, name: str, filters: int, channels: int, kernel: tuple[int, int], group: int = 1, stride: int = 1
    ) -> None:
        weights = self.weights(name, (filters, channels, *kernel))
        bias = self.constant(f"{name}.bias", self.random.normal(0, 0.1, filters).astype(np.float32))
        attributes = {"group": group, "strides": [stride, stride], "auto_pad": "SAME_UPPER"}
        self.tensor = self.add("Conv", f"{name}.conv", [self.tensor, weights, bias], **attributes)
        self.tensor = self.add("Relu", f"{name}.relu", [self.tensor])
        self.quantise(name, ACTIVATION_SCALE, -128)

    def weights(self, name: str, shape: tuple[int, ...]) -> str:
        """Integer weights with a scale for each filter, as floats."""
        values = self.random.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
        scales = np.abs(values).reshape(shape[0], -1).max(1) / max(self.most, 1.5)
        rounded = np.round(values / scales.reshape(-1, *(1,) * (len(shape) - 1)))
        stored = np.clip(rounded, -self.most - 1, self.most).astype(np.int8)
        zeros = np.zeros(shape[0], np.int8)
        parameters = [
            self.constant(f"{name}.weight", stored),
            self.constant(f"{name}.weight_scale", scales.astype(np.float32)),
            self.constant(f"{name}.weight_zero", zeros),
        ]
        return self.add("DequantizeLinear", f"{name}.weight_float", parameters, axis=0)

    def constant(self, name: str, value: np.ndarray | np.generic) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, kind: str, name: str, inputs: list[str], **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name


def build(weight_bits: int = 8) -> onnx.ModelProto:
    network = Network("audio", weight_bits)
    network.conv("stem", CHANNELS, 1, (10, 4), stride=2)
    for block in range(1, 5):
        network.conv(f"block{block}.depthwise", CHANNELS, 1, (3, 3), group=CHANNELS)
        network.conv(f"block{block}.pointwise", CHANNELS, CHANNELS, (1, 1))
    network.tensor = network.add("GlobalAveragePool", "pool.mean", [network.tensor])
    network.quantise("pool", ACTIVATION_SCALE, -128)
    network.tensor = network.add("Flatten", "flatten", [network.tensor])
    operands = [network.tensor, network.weights("words", (WORDS, CHANNELS))]
    network.tensor = network.add("Gemm", "words.gemm", operands, transB=1)
    network.quantise("words", SCORE_SCALE, 0)
    graph = helper.make_graph(
        network.nodes,
        "keyword_spotting",
        [helper.make_tensor_value_info("audio", TensorProto.FLOAT, [1, 1, 49, 10])],
        [helper.make_tensor_value_info(network.tensor, TensorProto.FLOAT, [1, WORDS])],
        network.constants,
    )
    graph.node[-1].output[0] = graph.output[0].name = "scores"
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "kws.onnx")
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(build(int(sys.argv[2]) if len(sys.argv) > 2 else 8), path)
    print(f"wrote {path}")

"""Builds a quantised keyword-spotting network (DS-CNN, int8 QDQ, random weights): python keyword_spotting.py kws.onnx

The shape is that of the MLPerf Tiny benchmark: 49 frames of 10 coefficients in, scores of 12 words out, 2.7 M MAC.
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

    def __init__(self) -> None:
        self.random = np.random.default_rng(7)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.tensor, self.scale = "audio", INPUT_SCALE
        self.quantise(INPUT_SCALE, 0)

    def quantise(self, scale: float, zero_point: int) -> None:
        """QuantizeLinear, DequantizeLinear."""
        parameters = [self.constant(np.float32(scale)), self.constant(np.int8(zero_point))]
        self.tensor = self.add("QuantizeLinear", [self.tensor, *parameters])
        self.tensor = self.add("DequantizeLinear", [self.tensor, *parameters])
        self.scale = scale

    def conv(self, filters: int, channels: int, kernel: tuple[int, int], group: int = 1, stride: int = 1) -> None:
        weights = self.weights((filters, channels, *kernel))
        bias = self.constant(self.random.normal(0, 0.1, filters).astype(np.float32))
        self.tensor = self.add(
            "Conv", [self.tensor, weights, bias], group=group, strides=[stride, stride], auto_pad="SAME_UPPER"
        )
        self.tensor = self.add("Relu", [self.tensor])
        self.quantise(ACTIVATION_SCALE, -128)

    def weights(self, shape: tuple[int, ...]) -> str:
        """int8 weights with a scale for each filter, as floats."""
        values = self.random.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
        scales = np.abs(values).reshape(shape[0], -1).max(1) / 127
        stored = np.round(values / scales.reshape(-1, *(1,) * (len(shape) - 1))).astype(np.int8)
        zeros = np.zeros(shape[0], np.int8)
        parameters = [self.constant(scales.astype(np.float32)), self.constant(zeros)]
        return self.add("DequantizeLinear", [self.constant(stored), *parameters], axis=0)

    def constant(self, value: np.ndarray | np.generic) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, kind: str, inputs: list[str], **attributes: object) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name


def build() -> onnx.ModelProto:
    network = Network()
    network.conv(CHANNELS, 1, (10, 4), stride=2)
    for _ in range(4):
        network.conv(CHANNELS, 1, (3, 3), group=CHANNELS)
        network.conv(CHANNELS, CHANNELS, (1, 1))
    network.tensor = network.add("GlobalAveragePool", [network.tensor])
    network.quantise(ACTIVATION_SCALE, -128)
    network.tensor = network.add("Flatten", [network.tensor])
    bias = network.constant(np.zeros(WORDS, np.float32))
    network.tensor = network.add("Gemm", [network.tensor, network.weights((WORDS, CHANNELS)), bias], transB=1)
    network.quantise(SCORE_SCALE, 0)
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
    onnx.save(build(), path)
    print(f"wrote {path}")

"""Builds a small MobileNet (int8 QDQ, random weights): python mobilenet.py mobilenet.onnx

Images of 3x32x32 in, scores of 10 classes out, 0.8 M MAC: a stem, an inverted residual, a block with strides and a
classifier.
"""

from __future__ import annotations

import sys

import onnx
from onnx import TensorProto, helper

from keyword_spotting import ACTIVATION_SCALE, SCORE_SCALE, Network

IMAGE, CLASSES = [1, 3, 32, 32], 10


def inverted_residual(network: Network, name: str, channels: int, wide: int) -> None:
    skipped = network.tensor
    network.conv(f"{name}.expand", wide, channels, (1, 1))
    network.conv(f"{name}.depthwise", wide, 1, (3, 3), group=wide)
    network.conv(f"{name}.project", channels, wide, (1, 1))
    network.tensor = network.add("Add", f"{name}.add", [skipped, network.tensor])
    network.quantise(name, 2 * ACTIVATION_SCALE, -128)


def separable(network: Network, name: str, channels: int, filters: int) -> None:
    network.conv(f"{name}.depthwise", channels, 1, (3, 3), group=channels, stride=2)
    network.conv(f"{name}.pointwise", filters, channels, (1, 1))


def build() -> onnx.ModelProto:
    network = Network("image")
    network.conv("stem", 16, 3, (3, 3), stride=2)
    inverted_residual(network, "block1", 16, 64)
    separable(network, "block2", 16, 32)
    network.tensor = network.add("GlobalAveragePool", "pool.mean", [network.tensor])
    network.quantise("pool", ACTIVATION_SCALE, -128)
    network.tensor = network.add("Flatten", "flatten", [network.tensor])
    operands = [network.tensor, network.weights("classes", (CLASSES, 32))]
    network.tensor = network.add("Gemm", "classes.gemm", operands, transB=1)
    network.quantise("classes", SCORE_SCALE, 0)
    graph = helper.make_graph(
        network.nodes,
        "mobilenet",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, IMAGE)],
        [helper.make_tensor_value_info(network.tensor, TensorProto.FLOAT, [1, CLASSES])],
        network.constants,
    )
    graph.node[-1].output[0] = graph.output[0].name = "scores"
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "mobilenet.onnx"
    onnx.save(build(), path)
    print(f"wrote {path}")

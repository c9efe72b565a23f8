"""Large networks with random weights, quantised to 8 bits: more than the memories near the cores hold."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.zoo_net import Net
from onnx import ModelProto, TensorProto
from tests.support.quantiser import quantise


def reader(net: Net) -> str:
    """Reads a line of text: convolutions over a wide image, then a class for every column. 5 MB of weights."""
    x = net.input(1, 1, 32, 320)
    for width, strides in ((64, (2, 2)), (128, (2, 2)), (256, None), (256, (2, 1)), (512, None), (512, (2, 1))):
        x = net("Relu", net.conv(x, width))
        if strides is not None:
            x = net("MaxPool", x, kernel_shape=list(strides), strides=list(strides))
    x = net("Relu", net.conv(x, 512, (2, 1), same=False))
    columns = net("Transpose", net.reshape(x, 1, 512, -1), perm=[0, 2, 1])
    return net.linear(net("Relu", net.linear(columns, 512, 256)), 256, 97)


def detector(net: Net) -> str:
    """Boxes in an image of 640 x 640: residual blocks in four sizes, and three heads. 17.9 GMAC."""
    x = net("Relu", net.conv(net.input(1, 3, 640, 640), 32, 3, 2))
    heads = []
    for width, blocks in ((64, 8), (128, 12), (256, 6), (320, 1)):
        x = net("Relu", net.conv(x, width, 3, 2))
        for _ in range(blocks):
            inner = net("Relu", net.conv(x, width // 2, 1))
            x = net("Relu", net("Add", x, net.conv(inner, width)))
        if width > 64:
            boxes = net.conv(net("Relu", net.conv(x, width)), 16, 1)
            heads.append(net("Transpose", net.reshape(boxes, 1, 16, -1), perm=[0, 2, 1]))
    return net("Concat", *heads, axis=1)


NETWORKS: dict[str, Callable[[Net], str]] = {"reader": reader, "detector": detector}


def quantised(name: str) -> ModelProto:
    """With bytes for inputs and outputs too."""
    net = Net(1)
    made = net.model(NETWORKS[name](net))
    return _in_bytes(quantise(made, net.feeds(1)))


def _in_bytes(model: ModelProto) -> ModelProto:
    """Without the quantisers of the caller's tensors."""
    graph = model.graph
    ends = {value.name for value in (*graph.input, *graph.output)}
    outer = [node for node in graph.node if {*node.input[:1], *node.output} & ends and "Linear" in node.op_type]
    inner = {node.input[0] if node.input[0] in ends else node.output[0]: node for node in outer}
    for value in (*graph.input, *graph.output):
        node = inner[value.name]
        value.name = node.output[0] if value.name in node.input else node.input[0]
        value.type.tensor_type.elem_type = TensorProto.INT8
    for node in outer:
        graph.node.remove(node)
    return model

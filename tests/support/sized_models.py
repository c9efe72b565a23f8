"""ONNX networks with symbolic dimensions: windows over batches and time, recurrent layers, attention, movement."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Ranges = dict[str, tuple[int, int]]


class Net:
    """Nodes one after another, each of which is called like the tensor that it makes."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name, self.random = name, np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, kind: str, *inputs: str, outputs: Sequence[str] = (), **attributes: object) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, list(outputs) or [name], name, **attributes))
        return outputs[0] if outputs else name

    def weight(self, *shape: int) -> str:
        scale = np.sqrt(max(1, int(np.prod(shape[1:]))))
        return self.constant((self.random.standard_normal(shape) / scale).astype(np.float32))

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def constant(self, array: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(array, f"c{len(self.constants)}"))
        return f"c{len(self.constants) - 1}"

    def size(self, of: str, axis: int) -> str:
        return self.add("Gather", self.add("Shape", of), self.integers(axis), axis=0)

    def model(self, shape: Sequence[int | str], y: str) -> onnx.ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        made = helper.make_empty_tensor_value_info(y)
        made.type.tensor_type.elem_type = TensorProto.FLOAT
        graph = helper.make_graph(self.nodes, self.name, [x], [made], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def images() -> tuple[onnx.ModelProto, Ranges]:
    net = Net("images")
    first = net.add("Relu", net.add("Conv", "x", net.weight(8, 3, 3, 3), net.weight(8), pads=[1] * 4))
    pooled = net.add("MaxPool", first, kernel_shape=[2, 2], strides=[2, 2])
    second = net.add("Conv", pooled, net.weight(8, 8, 3, 3), pads=[1] * 4, strides=[2, 2])
    third = net.add("Add", second, net.add("Conv", second, net.weight(8, 1, 3, 3), group=8, pads=[1] * 4))
    flat = net.add("Flatten", net.add("GlobalAveragePool", third))
    return net.model(["batch", 3, 12, 12], net.add("Softmax", net.add("Gemm", flat, net.weight(8, 10)))), {
        "batch": (1, 6)
    }


def sounds() -> tuple[onnx.ModelProto, Ranges]:
    """Time is shortened by strides, so that sizes behind them are quotients."""
    net = Net("sounds")
    first = net.add("Relu", net.add("Conv", "x", net.weight(8, 5, 3), net.weight(8), pads=[1, 1]))
    second = net.add(
        "Transpose", net.add("Conv", first, net.weight(12, 8, 5), pads=[2, 2], strides=[2]), perm=[0, 2, 1]
    )
    third = net.add("Sigmoid", net.add("MatMul", second, net.weight(12, 6)))
    return net.model([1, 5, "time"], net.add("CumSum", third, net.constant(np.array(1, np.int64)))), {"time": (1, 50)}


def sequences() -> tuple[onnx.ModelProto, Ranges]:
    net = Net("sequences")
    weights = net.weight(1, 28, 5), net.weight(1, 28, 7), net.weight(1, 56)
    made = net.add("LSTM", "x", *weights, outputs=["hidden", "", ""], hidden_size=7)
    both = net.add("GRU", net.add("Squeeze", made, net.integers(1)), net.weight(2, 12, 7), net.weight(2, 12, 4),
                   outputs=["both", ""], hidden_size=4, direction="bidirectional")  # fmt: skip
    last = net.add("Reshape", net.add("Transpose", both, perm=[0, 2, 1, 3]), net.integers(0, 2, 8))
    return net.model(["time", 2, 5], last), {"time": (1, 20)}


def words() -> tuple[onnx.ModelProto, Ranges]:
    """Attention with heads, a table of positions that is cut to length, and a mask of tokens by tokens."""
    net, width, heads = Net("words"), 16, 4
    tokens = net.size("x", 1)
    table = net.add("Slice", net.weight(1, 40, width), net.integers(0), tokens, net.integers(1))
    x = net.add("Add", "x", table)
    shape = net.add("Concat", net.integers(1), tokens, net.integers(heads, width // heads), axis=0)
    parts = []
    for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        apart = net.add("Reshape", net.add("MatMul", x, net.weight(width, width)), shape)
        parts.append(net.add("Transpose", apart, perm=perm))
    square = net.add("Concat", tokens, tokens, axis=0)
    mask = net.add("Trilu", net.add("Expand", net.constant(np.float32([[1]])), square), upper=0)
    scores = net.add("Mul", net.add("Softmax", net.add("MatMul", *parts[:2])), mask)
    mixed = net.add("Transpose", net.add("MatMul", scores, parts[2]), perm=[0, 2, 1, 3])
    joined = net.add("Reshape", mixed, net.add("Concat", net.integers(1), tokens, net.integers(width), axis=0))
    normed = net.add("LayerNormalization", net.add("Add", joined, x), net.weight(width), net.weight(width), axis=-1)
    return net.model([1, "tokens", width], normed), {"tokens": (1, 40)}


def moves() -> tuple[onnx.ModelProto, Ranges]:
    """Two dimensions, which are joined, reversed, repeated, padded and reduced."""
    net = Net("moves")
    turned = net.add("Transpose", "x", perm=[2, 0, 1])
    longer = net.add("Concat", turned, turned, axis=0)
    back = net.add("Slice", longer, *(net.integers(one) for one in (-1, -10000, 0, -1)))
    padded = net.add("Pad", back, net.integers(1, 0, 0, 2, 0, 0))
    flat = net.add("Reshape", padded, net.integers(-1, 2))
    mean = net.add("ReduceMean", flat, axes=[0], keepdims=1)
    return net.model(["batch", 4, "time"], net.add("Sub", flat, mean)), {"batch": (1, 4), "time": (2, 9)}


def chance(seed: int) -> tuple[onnx.ModelProto, Ranges]:
    """A chain of layers of [batch, channels, time] by chance; all but few keep the length."""
    net, channels, x = Net(f"chance{seed}", seed), 4, "x"
    for _ in range(5):
        kind = int(net.random.integers(8))
        if kind == 0:
            size, stride = int(net.random.integers(1, 6)), int(net.random.integers(1, 4))
            wide = int(net.random.integers(1, 9))
            pads = [size // 2, (size - 1) // 2]
            x = net.add("Conv", x, net.weight(wide, channels, size), pads=pads, strides=[stride])
            channels = wide
        elif kind == 1:
            x = net.add("MaxPool", x, kernel_shape=[3], pads=[1, 1], strides=[int(net.random.integers(1, 3))])
        elif kind == 2:
            across = net.add("MatMul", net.add("Transpose", x, perm=[0, 2, 1]), net.weight(channels, 6))
            x, channels = net.add("Transpose", net.add("Tanh", across), perm=[0, 2, 1]), 6
        elif kind == 3:
            x, channels = net.add("Concat", x, net.add("Neg", x), axis=1), 2 * channels
        elif kind == 4:
            x = net.add("Softmax", x, axis=int(net.random.integers(1, 3)))
        elif kind == 5:
            x = net.add("Sub", x, net.add("ReduceMax", x, axes=[2], keepdims=1))
        elif kind == 6:
            turned = net.add("Reshape", x, net.integers(0, -1, channels))
            x = net.add("Transpose", net.add("Mul", turned, net.weight(1, 1, channels)), perm=[0, 2, 1])
        else:
            x = net.add("Concat", x, x, axis=2)
    return net.model(["batch", 4, "time"], x), {"batch": (1, 3), "time": (1, 17)}


MODELS: dict[str, Callable[[], tuple[onnx.ModelProto, Ranges]]] = {
    "images": images, "sounds": sounds, "sequences": sequences, "words": words, "moves": moves,
}  # fmt: skip

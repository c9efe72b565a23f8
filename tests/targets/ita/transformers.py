"""Small quantised networks of standard ONNX operators: a layer, an attention, a layer of an encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Net:
    """Nodes between quantisers; every scale is given."""

    def __init__(self, shape: tuple[int, ...], zero: int = 0) -> None:
        self.rng = np.random.default_rng(1)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.shape, self.zero = shape, zero
        self.x = self.dequantised("x", 1 / 40)

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, op: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def dequantised(self, name: str, scale: float, dtype: type = np.int8) -> str:
        ends = [self.constant(f"{name}_s", np.float32(scale)), self.constant(f"{name}_z", dtype(self.zero))]
        return self.add("DequantizeLinear", [name, *ends], f"{name}_d")

    def quantised(self, name: str, scale: float, dtype: type = np.int8) -> str:
        ends = [self.constant(f"{name}_qs", np.float32(scale)), self.constant(f"{name}_qz", dtype(self.zero))]
        return self.dequantised(self.add("QuantizeLinear", [name, *ends], f"{name}_q"), scale, dtype)

    def linear(self, x: str, name: str, inner: int, columns: int, relu: bool = False) -> str:
        stored = self.constant(f"{name}_w", self.rng.integers(-127, 128, (inner, columns)).astype(np.int8))
        step = self.constant(f"{name}_ws", np.float32(1 / (74 * inner**0.5)))
        weights = self.add("DequantizeLinear", [stored, step], f"{name}_wd")
        bias = self.constant(f"{name}_b", self.rng.normal(0, 0.2, columns).astype(np.float32))
        total = self.add("Add", [self.add("MatMul", [x, weights], f"{name}_p"), bias], f"{name}_t")
        return self.quantised(self.add("Relu", [total], f"{name}_r") if relu else total, 1 / 30)

    def attention(self, x: str, columns: int, heads: int, width: int) -> str:
        tokens = self.shape[1]
        apart = self.constant("apart", np.array([1, tokens, heads, width]))
        q, k, v = (
            self.add("Reshape", [self.linear(x, one, columns, heads * width), apart], f"{one}_apart") for one in "qkv"
        )
        q, v = (self.add("Transpose", [one], f"{one}_h", perm=[0, 2, 1, 3]) for one in (q, v))
        k = self.add("Transpose", [k], "k_h", perm=[0, 2, 3, 1])
        root = self.constant("root", np.float32(width**-0.5))
        scores = self.quantised(self.add("Mul", [self.add("MatMul", [q, k], "scores"), root], "scaled"), 1 / 8)
        shares = self.quantised(self.add("Softmax", [scores], "shares", axis=-1), 1 / 255, np.uint8)
        mixed = self.quantised(self.add("MatMul", [shares, v], "mixed"), 1 / 60)
        back = self.add("Transpose", [mixed], "back", perm=[0, 2, 1, 3])
        rows = self.add("Reshape", [back, self.constant("rows", np.array([1, tokens, heads * width]))], "joined")
        return self.linear(rows, "out", heads * width, columns)

    def model(self, result: str) -> Any:
        """With what was quantised last as its output, in bytes."""
        self.nodes.pop()
        ends = [
            helper.make_tensor_value_info("x", TensorProto.INT8, self.shape),
            helper.make_tensor_value_info(result.removesuffix("_d"), TensorProto.INT8, None),
        ]
        graph = helper.make_graph(self.nodes, "net", ends[:1], ends[1:], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def linear_model() -> Any:
    net = Net((1, 8, 96))
    return net.model(net.linear(net.x, "y", 96, 64))


def attention_model(tokens: int, columns: int, heads: int, width: int, zero: int = 0) -> Any:
    net = Net((1, tokens, columns), zero)
    return net.model(net.attention(net.x, columns, heads, width))


def encoder_model(tokens: int, columns: int, heads: int, width: int, hidden: int) -> Any:
    """Attention, a sum, a normalisation, a feed-forward and one more sum."""
    net = Net((1, tokens, columns))
    mixed = net.quantised(net.add("Add", [net.x, net.attention(net.x, columns, heads, width)], "first"), 1 / 25)
    gains = net.constant("gains", net.rng.uniform(0.8, 1.2, columns).astype(np.float32))
    summands = net.constant("summands", net.rng.normal(0, 0.1, columns).astype(np.float32))
    norm = net.quantised(net.add("LayerNormalization", [mixed, gains, summands], "norm", axis=-1), 1 / 40)
    narrow = net.linear(net.linear(norm, "wide", columns, hidden, relu=True), "narrow", hidden, columns)
    return net.model(net.quantised(net.add("Add", [norm, narrow], "second"), 1 / 25))


def feed_forward_model(columns: int, hidden: int, zero: int = 0) -> Any:
    """Two products with a GELU between them, which is written out as exporters do."""
    net = Net((1, 64, columns), zero)
    wide = net.linear(net.x, "wide", columns, hidden)
    root, one, half = (net.constant(f"c{value}", np.float32(value)) for value in (2**0.5, 1.0, 0.5))
    erf = net.add("Add", [net.add("Erf", [net.add("Div", [wide, root], "g1")], "g2"), one], "g3")
    gelu = net.add("Mul", [net.add("Mul", [wide, erf], "g4"), half], "g5")
    return net.model(net.linear(net.quantised(gelu, 1 / 30), "narrow", hidden, columns))

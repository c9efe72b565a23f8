"""A float network that grows layer by layer, with random weights and the sizes that a random number generator likes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tilewright.ir.types import Array


class Net:
    """Tensors are named by strings; `shapes` are kept as far as the layers need them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, Array] = {}
        self.inputs: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.channels: dict[str, int] = {}

    # ---- choices ------------------------------------------------------------------------------------------------

    def pick(self, *options: Any) -> Any:
        return options[int(self.random.integers(len(options)))]

    def between(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    # ---- tensors ------------------------------------------------------------------------------------------------

    def input(self, *shape: int, dtype: int = TensorProto.FLOAT) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = dtype, shape
        if len(shape) > 1:
            self.channels[name] = shape[1]
        return name

    def constant(self, values: Any, dtype: str = "float32") -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = np.asarray(values, dtype)
        return name

    def weights(self, *shape: int, fan: int = 0) -> str:
        """Of a size that keeps activations at about one."""
        scale = 1 / math.sqrt(fan or math.prod(shape[1:]) or 1)
        return self.constant(self.random.normal(0, scale, shape))

    def near_one(self, *shape: int) -> str:
        return self.constant(self.random.uniform(0.5, 1.5, shape))

    def __call__(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The result of a node; the channels of its first operand stay as they are."""
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], f"{kind}{len(self.nodes)}", **attributes))
        if inputs and inputs[0] in self.channels:
            self.channels[name] = self.channels[inputs[0]]
        return name

    # ---- layers -------------------------------------------------------------------------------------------------

    def conv(
        self, x: str, filters: int, kernel: int | tuple[int, int] = 3, stride: int = 1, group: int = 1,
        dilation: int = 1, same: bool = True, rank: int = 2,
    ) -> str:  # fmt: skip
        taps = (kernel,) * rank if isinstance(kernel, int) else kernel
        pads = [dilation * (size - 1) // 2 for size in taps] if same else [0] * rank
        ends = [dilation * (size - 1) - pad for size, pad in zip(taps, pads, strict=True)] if same else [0] * rank
        weights = self.weights(filters, self.channels[x] // group, *taps)
        bias = [self.weights(filters, fan=4)] if self.random.random() < 0.8 else []
        name = self(
            "Conv", x, weights, *bias, kernel_shape=list(taps), strides=[stride] * rank, group=group,
            dilations=[dilation] * rank, pads=[*pads, *ends],
        )  # fmt: skip
        self.channels[name] = filters
        return name

    def depthwise(self, x: str, kernel: int = 3, stride: int = 1, dilation: int = 1, rank: int = 2) -> str:
        channels = self.channels[x]
        return self.conv(x, channels, kernel, stride, channels, dilation, rank=rank)

    def norm(self, x: str) -> str:
        channels = self.channels[x]
        return self(
            "BatchNormalization", x, self.near_one(channels), self.weights(channels, fan=4),
            self.weights(channels, fan=4), self.near_one(channels),
        )  # fmt: skip

    def activation(self, x: str) -> str:
        kind = self.pick("Relu", "Relu", "Relu6", "HardSwish", "Sigmoid", "LeakyRelu", "Silu", "Elu", "Tanh")
        if kind == "Relu6":
            return self("Clip", x, self.constant(0.0), self.constant(6.0))
        if kind == "Silu":
            return self("Mul", x, self("Sigmoid", x))
        return self(kind, x)

    def dense(self, x: str, inner: int, outer: int) -> str:
        if self.random.random() < 0.5:
            return self("Gemm", x, self.weights(outer, inner), self.weights(outer, fan=4), transB=1)
        return self("Add", self("MatMul", x, self.weights(inner, outer, fan=inner)), self.weights(outer, fan=4))

    def linear(self, x: str, inner: int, outer: int) -> str:
        """On the last axis of any tensor."""
        return self("Add", self("MatMul", x, self.weights(inner, outer, fan=inner)), self.weights(outer, fan=4))

    def head(self, x: str, classes: int) -> str:
        pooled = self("Flatten", self("GlobalAveragePool", x))
        scores = self.dense(pooled, self.channels[x], classes)
        return self("Softmax", scores, axis=-1) if self.random.random() < 0.5 else scores

    def reshape(self, x: str, *shape: int) -> str:
        return self("Reshape", x, self.constant(shape, "int64"))

    # ---- the whole ----------------------------------------------------------------------------------------------

    def model(self, *outputs: str, opset: int = 17) -> ModelProto:
        inputs = [helper.make_tensor_value_info(name, *kind) for name, kind in self.inputs.items()]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        tensors = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "zoo", inputs, results, tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)

    def feeds(self, bound: int) -> dict[str, Array]:
        """Values for the inputs; integers are indices below `bound`."""
        return {
            name: self.random.normal(0, 1, shape).astype(np.float32)
            if dtype == TensorProto.FLOAT
            else self.random.integers(0, bound, shape).astype(np.int64)
            for name, (dtype, shape) in self.inputs.items()
        }

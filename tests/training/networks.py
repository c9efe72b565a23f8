"""Small networks that learn, as ONNX models and as graphs; steps of them with numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tilewright.frontends.parameters import Trainable, load
from tilewright.ir.evaluate import evaluate, states_after
from tilewright.ir.types import Array
from tilewright.training.graphs import Training
from tilewright.training.making import Recipe, make_training

RANDOM = np.random.default_rng(3)


def real(*shape: int) -> Array:
    return (RANDOM.normal(size=shape) * 0.5).astype(np.float32)


def model(nodes: Sequence[Any], shape: Sequence[int], **weights: Array) -> ModelProto:
    """A network from `x` to `y`."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(list(nodes), "net", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


node = helper.make_node


def mlp(batch: int = 4) -> ModelProto:
    nodes = [
        node("Gemm", ["x", "first.weight", "first.bias"], ["a"], transB=1, name="first"),
        node("Relu", ["a"], ["b"], name="relu"),
        node("Dropout", ["b", "ratio"], ["c"], name="drop"),
        node("Gemm", ["c", "head.weight", "head.bias"], ["y"], transB=1, name="head"),
    ]
    weights = {"first.weight": real(16, 6), "first.bias": real(16), "head.weight": real(3, 16), "head.bias": real(3)}
    return model(nodes, (batch, 6), ratio=np.float32(0.25), **weights)


def normalised() -> ModelProto:
    nodes = [
        node("Conv", ["x", "conv.weight"], ["a"], name="conv"),
        node("BatchNormalization", ["a", "norm.scale", "norm.bias", "norm.mean", "norm.var"], ["b"], name="norm"),
        node("GlobalAveragePool", ["b"], ["c"], name="pool"),
        node("Flatten", ["c"], ["d"], name="flat"),
        node("MatMul", ["d", "head.weight"], ["e"], name="head"),
        node("Softmax", ["e"], ["y"], name="shares"),
    ]
    weights = {
        "conv.weight": real(4, 2, 1, 1), "norm.scale": real(4) + 1, "norm.bias": real(4), "norm.mean": real(4),
        "norm.var": np.abs(real(4)) + 1, "head.weight": real(4, 3),
    }  # fmt: skip
    return model(nodes, (2, 2, 3, 3), **weights)


def quantised_body() -> ModelProto:
    """An int8 product, then a head in floats."""
    zero = np.int8(0)
    nodes = [
        node("QuantizeLinear", ["x", "x_scale", "zero"], ["xq"], name="features"),
        node("DequantizeLinear", ["xq", "x_scale", "zero"], ["xf"], name="features_back"),
        node("DequantizeLinear", ["wq", "w_scale", "zero"], ["wf"], name="weights_back"),
        node("MatMul", ["xf", "wf"], ["a"], name="body"),
        node("QuantizeLinear", ["a", "a_scale", "zero"], ["aq"], name="body_steps"),
        node("DequantizeLinear", ["aq", "a_scale", "zero"], ["af"], name="body_back"),
        node("Gemm", ["af", "head.weight", "head.bias"], ["y"], transB=1, name="head"),
    ]
    scales = {"x_scale": np.float32(0.02), "w_scale": np.float32(0.01), "a_scale": np.float32(0.03), "zero": zero}
    wq = RANDOM.integers(-90, 90, (6, 8)).astype(np.int8)
    return model(nodes, (4, 6), wq=wq, **scales, **{"head.weight": real(3, 8), "head.bias": real(3)})


def training_of(proto: ModelProto, recipe: Recipe | None = None) -> Training:
    found: Trainable = load(proto)
    return make_training(found.graph, recipe or Recipe(), found.learning)


@dataclass
class Learner:
    """Steps and updates, computed by the definitions of operators."""

    training: Training
    states: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.states = {name: state.initial for name, state in self.training.states.items()} | self.states

    def step(self, *inputs: Array) -> float:
        graph = self.training.train
        values = evaluate(graph, dict(zip(graph.inputs, inputs, strict=True)), self.states)
        self.states |= states_after(graph, values)
        return float(values[graph.outputs[0]])

    def update(self) -> None:
        values = evaluate(self.training.update, {}, self.states)
        self.states |= states_after(self.training.update, values)

    def infer(self, x: Array) -> Array:
        assert self.training.infer is not None
        values = evaluate(self.training.infer, {self.training.infer.inputs[0]: x}, self.states)
        return values[self.training.infer.outputs[0]]

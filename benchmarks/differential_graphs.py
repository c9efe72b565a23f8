"""Graphs that grow at random: ONNX Runtime computes each node as it is added, so that every value is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from tilewright.ir.types import Array

MAX_ELEMENTS = 20_000
MAX_EXACT = 2.0**10
"""Inputs are multiples of 1/8; sums of products of such numbers are exact in float32 up to about here."""
MAX_FLOAT = 1e6
TYPES = frozenset({"float32", "int8", "uint8", "int32", "int64", "bool"})

EXACT = frozenset({
    "Abs", "Add", "And", "Clip", "Concat", "Conv", "ConvInteger", "CumSum", "DepthToSpace", "Expand", "Flatten",
    "Gather", "GatherElements", "GatherND", "Gemm", "GlobalMaxPool", "Identity", "MatMul", "MatMulInteger", "Max",
    "MaxPool", "Min", "Mul", "Neg", "Not", "Or", "Pad", "ReduceMax", "ReduceMin", "ReduceSum", "Relu", "Reshape",
    "ScatterElements", "ScatterND", "Slice", "SpaceToDepth", "Split", "Squeeze", "Sub", "Sum", "Tile", "Transpose",
    "Trilu", "Unsqueeze", "Where", "Xor",
})  # fmt: skip
"""Operators whose result on exact operands does not depend on the order of additions."""
STEPS = frozenset({
    "ArgMax", "ArgMin", "Cast", "Ceil", "Equal", "Floor", "Greater", "GreaterOrEqual", "Hardmax", "Less",
    "LessOrEqual", "QuantizeLinear", "Round", "Sign",
})  # fmt: skip
"""Operators that jump: only on exact operands must two implementations agree."""


def _options() -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


OPTIONS = _options()


class Net:
    """A graph under construction, with the value of every tensor."""

    def __init__(self, seed: int, opset: int) -> None:
        self.random, self.opset = np.random.default_rng(seed), opset
        self.values: dict[str, Array] = {}
        self.exact: dict[str, bool] = {}
        self.inputs: list[str] = []
        self.constants: dict[str, Array] = {}
        self.nodes: list[NodeProto] = []
        self.pool: list[str] = []
        """Tensors that further nodes may read."""

    # ---- chance ---------------------------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def number(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def choice(self, items: Sequence[Any]) -> Any:
        return items[self.number(0, len(items) - 1)]

    def shuffled(self, count: int) -> list[int]:
        return [int(i) for i in self.random.permutation(count)]

    def some(self, count: int, least: int = 1) -> list[int]:
        """Some of the first numbers, in any order."""
        return self.shuffled(count)[: self.number(least, count)]

    def size(self) -> int:
        return int(self.random.choice([0, 1, self.number(2, 9), self.number(10, 40)], p=[0.02, 0.18, 0.75, 0.05]))

    def shape(self, low: int, high: int) -> tuple[int, ...]:
        rank = self.number(low, high)
        while True:
            shape = tuple(self.size() if rank < 5 else min(self.size(), 4) for _ in range(rank))
            if np.prod(shape, initial=1) <= 3000:
                return shape

    def array(self, shape: Sequence[int], dtype: str = "float32", low: int = -2, high: int = 2) -> Array:
        if dtype == "bool":
            return self.random.random(shape) < 0.5
        if dtype == "float32":
            return np.asarray(self.random.integers(low * 8, high * 8 + 1, shape) / 8, dtype)
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        return self.random.integers(max(least, low * 4), min(most, high * 4) + 1, shape).astype(dtype)

    # ---- tensors --------------------------------------------------------------------------------------------------

    def give(self, array: Array, constant: bool | None = None) -> str:
        """A tensor with these values: an input of the graph or a constant."""
        constant = self.chance(0.25) if constant is None else constant
        name = f"{'c' if constant else 'x'}{len(self.values)}"
        self.values[name], self.exact[name] = np.asarray(array), True
        if constant:
            self.constants[name] = self.values[name]
        else:
            self.inputs.append(name)
            self.pool.append(name)
        return name

    def new(self, shape: Sequence[int], dtype: str = "float32", constant: bool | None = None) -> str:
        return self.give(self.array(shape, dtype), constant)

    def constant(self, array: Any, dtype: str) -> str:
        return self.give(np.asarray(array, dtype), True)

    def ints(self, *numbers: int) -> str:
        return self.constant(numbers, "int64")

    def pick(
        self, dtype: str = "float32", low: int = 0, high: int = 6, fits: Callable[[Array], bool] = lambda a: True,
        exact: bool = False,
    ) -> str:  # fmt: skip
        """A tensor of the graph, one of the latest by preference, or a new one."""
        found = [name for name in self.pool if self._suits(name, dtype, low, high, exact) and fits(self.values[name])]
        if found and self.chance(0.8):
            return found[-1 - min(int(self.random.exponential(3)), len(found) - 1)]
        while True:
            array = self.array(self.shape(low, high), dtype)
            if fits(array):
                return self.give(array)

    def _suits(self, name: str, dtype: str, low: int, high: int, exact: bool) -> bool:
        value = self.values[name]
        return value.dtype == dtype and low <= value.ndim <= high and (self.exact[name] or not exact)

    # ---- nodes ----------------------------------------------------------------------------------------------------

    def add(self, kind: str, inputs: Sequence[str], results: int = 1, domain: str = "", **attributes: Any) -> list[str]:
        """A node, unless ONNX Runtime refuses it or its values are of no use; its results' names."""
        given = {name: value for name, value in attributes.items() if value is not None}
        names = [f"t{len(self.values) + i}" for i in range(results)]
        node = helper.make_node(kind, inputs, names, names[0], domain=domain, **given)
        exact = all(self.exact[name] for name in inputs if name)
        values = self._computed(node) if exact or kind not in STEPS else None
        if values is None or not all(map(_useful, values)):
            return []
        exact = exact and kind in EXACT | STEPS and all(map(_small, values))
        self.nodes.append(node)
        for name, value in zip(names, values, strict=True):
            self.values[name], self.exact[name] = value, exact
            self.pool.append(name)
        return names

    def drop(self, node: NodeProto) -> None:
        """Take back the last node."""
        self.nodes.remove(node)
        self.pool = [name for name in self.pool if name not in node.output]

    def _computed(self, node: NodeProto) -> list[Array] | None:
        model, feeds = self.alone(node)
        try:
            session = ort.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"])
            return [np.asarray(value) for value in session.run(None, feeds)]
        except Exception:  # an attribute or type that it does not take
            return None

    def alone(self, node: NodeProto) -> tuple[ModelProto, dict[str, Array]]:
        """A model of one node, and its inputs."""
        read = list(dict.fromkeys(filter(None, node.input)))
        feeds = {name: self.values[name] for name in read if name not in self.constants}
        constants = {name: self.values[name] for name in read if name in self.constants}
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
        return self._model([node], feeds, outputs, constants), feeds

    def whole(self, outputs: Sequence[str]) -> tuple[ModelProto, dict[str, Array]]:
        """All nodes, and the inputs."""
        feeds = {name: self.values[name] for name in self.inputs}
        return self._model(self.nodes, feeds, [self._declared(name) for name in outputs], self.constants), feeds

    def outputs(self) -> list[str]:
        """What nothing reads, some of what is read, now and then an input or a constant."""
        read = {name for node in self.nodes for name in node.input}
        made = [name for node in self.nodes for name in node.output]
        others = [self.choice(names) for names in (self.inputs, list(self.constants)) if names and self.chance(0.2)]
        return list(dict.fromkeys([name for name in made if name not in read or self.chance(0.3)] + others))

    def _declared(self, name: str) -> ValueInfoProto:
        value = self.values[name]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

    def _model(
        self, nodes: Sequence[NodeProto], feeds: dict[str, Array], outputs: list[ValueInfoProto],
        constants: dict[str, Array],
    ) -> ModelProto:  # fmt: skip
        tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
        graph = helper.make_graph(nodes, "random", [self._declared(name) for name in feeds], outputs, tensors)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8 if self.opset < 21 else 10)


def _useful(value: Array) -> bool:
    if value.size > MAX_ELEMENTS or value.dtype.name not in TYPES:
        return False
    return value.dtype.kind != "f" or bool(np.all(np.abs(value) < MAX_FLOAT))


def _small(value: Array) -> bool:
    return value.dtype.kind != "f" or bool(np.all(np.abs(value) < MAX_EXACT))

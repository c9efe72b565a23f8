"""Graphs that grow by chance: another runtime computes each node as it is added, so that every value is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from benchmarks.differential.case import EXACT as EXACTLY
from benchmarks.differential.case import Case
from benchmarks.differential.choices import TRIES, Choices, Dull
from benchmarks.differential.runtimes import module, onnx_runtime
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array

OPSETS = (7, 23)
MAX_EXACT = 2.0**10
"""Inputs are multiples of 1/8; sums of products of such numbers are exact in float32 up to about here."""
MAX_FLOAT = 1e6

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


class Net:
    """A graph under construction, with the value of every tensor."""

    dtypes: Sequence[str] = ("float32", "int8", "uint8", "int32", "int64", "bool")
    """Element types of what is moved, chosen between and cast."""

    def __init__(self, choices: Choices, room: int, opset: int | None = None) -> None:
        """A tensor has at most as many elements as there is room for."""
        self.choices, self.room = choices, room
        self.opset = OPSETS[1] - choices.number(0, OPSETS[1] - OPSETS[0]) if opset is None else opset
        self.values: dict[str, Array] = {}
        self.exact: dict[str, bool] = {}
        self.steps: dict[str, float] = {}
        """How far roundings of floats to bytes may make a tensor differ, in its own unit; 0 where there are none."""
        self.inputs: list[str] = []
        self.constants: dict[str, Array] = {}
        self.nodes: list[NodeProto] = []
        self.pool: list[str] = []
        """Tensors that further nodes may read."""
        self.draw_size: Callable[[], int] = choices.size

    # ---- chance ---------------------------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.choices.chance(probability)

    def number(self, low: int, high: int) -> int:
        return self.choices.number(low, high)

    def choice(self, items: Sequence[Any]) -> Any:
        return self.choices.pick_one(items)

    def shuffled(self, count: int) -> list[int]:
        return self.choices.shuffled(count)

    def some(self, count: int, least: int = 1) -> list[int]:
        return self.choices.some(count, least)

    def size(self) -> int:
        return self.draw_size()

    def shape(self, low: int, high: int) -> tuple[int, ...]:
        rank = self.number(low, high)
        for _ in range(TRIES):
            shape = tuple(self.size() if rank < 5 else min(self.size(), 4) for _ in range(rank))
            if np.prod(shape, initial=1) <= self.room // 4:
                return shape
        raise Dull("shapes are too large")

    def array(self, shape: Sequence[int], dtype: str = "float32", low: int = -2, high: int = 2) -> Array:
        random = self.choices.numpy()
        if dtype == "bool":
            return np.asarray(random.random(shape) < 0.5)
        if dtype == "float32":
            return np.asarray(random.integers(low * 8, high * 8 + 1, shape) / 8, dtype)
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        return np.asarray(random.integers(max(least, low * 4), min(most, high * 4) + 1, shape), dtype)

    # ---- tensors --------------------------------------------------------------------------------------------------

    def give(self, array: Array, constant: bool | None = None) -> str:
        """A tensor with these values: an input of the graph or a constant."""
        constant = self.chance(0.25) if constant is None else constant
        name = f"{'c' if constant else 'x'}{len(self.values)}"
        self.values[name], self.exact[name] = np.asarray(array), _has_few_bits(array)
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
            return found[-1 - min(self.number(0, 2) * self.number(0, 3), len(found) - 1)]
        for _ in range(TRIES):
            array = self.array(self.shape(low, high), dtype)
            if fits(array):
                return self.give(array)
        raise Dull("no tensor fits")

    def _suits(self, name: str, dtype: str, low: int, high: int, exact: bool) -> bool:
        value = self.values[name]
        return value.dtype == dtype and low <= value.ndim <= high and (self.exact[name] or not exact)

    # ---- nodes ----------------------------------------------------------------------------------------------------

    def add(
        self, kind: str, inputs: Sequence[str], results: int = 1, domain: str = "", steps: float = 0.0,
        **attributes: Any,
    ) -> list[str]:  # fmt: skip
        """A node, unless no runtime takes it or its values are of no use; its results' names. `steps` is how far
        results may be off where floats were rounded to bytes; without it as far as operands."""
        given = {name: value for name, value in attributes.items() if value is not None}
        names = [f"t{len(self.values) + i}" for i in range(results)]
        node = helper.make_node(kind, inputs, names, names[0], domain=domain, **given)
        exact = all(self.exact[name] for name in inputs if name)
        values = self._computed(node) if exact or steps or kind not in STEPS else None
        if values is None or not all(map(self._is_useful, values)):
            return []
        exact = exact and kind in EXACT | STEPS and all(map(_small, values))
        self.nodes.append(node)
        for name, value in zip(names, values, strict=True):
            self.values[name], self.exact[name] = value, exact
            self.steps[name] = steps or max((self.steps.get(name, 0.0) for name in inputs), default=0.0)
            self.pool.append(name)
        return names

    def _computed(self, node: NodeProto) -> list[Array] | None:
        model, feeds = self.alone(node)
        return onnx_runtime(model, feeds) if module("onnxruntime") else _our_values(model, feeds)

    def _is_useful(self, value: Array) -> bool:
        if value.size > self.room or value.dtype.name not in self.dtypes:
            return False
        return value.dtype.kind != "f" or float(np.abs(value).max(initial=0.0)) < MAX_FLOAT

    def alone(self, node: NodeProto) -> tuple[ModelProto, dict[str, Array]]:
        """A model of one node, and its inputs."""
        read = list(dict.fromkeys(filter(None, node.input)))
        feeds = {name: self.values[name] for name in read if name not in self.constants}
        constants = {name: self.values[name] for name in read if name in self.constants}
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
        return self._model([node], feeds, outputs, constants), feeds

    def whole(self, outputs: Sequence[str]) -> tuple[ModelProto, dict[str, Array]]:
        """All nodes, and the inputs."""
        read = {name for node in self.nodes for name in node.input}.union(outputs)
        feeds = {name: self.values[name] for name in self.inputs if name in read}
        constants = {name: value for name, value in self.constants.items() if name in read}
        return self._model(self.nodes, feeds, [self._declared(name) for name in outputs], constants), feeds

    def case(self) -> Case:
        """The graph with its inputs, and what the runtime gave."""
        outputs = self.outputs()
        if not self.nodes or not outputs:
            raise Dull("a graph without nodes")
        model, feeds = self.whole(outputs)
        expected = {name: self.values[name] for name in outputs}
        return Case(model.SerializeToString(), feeds, expected if module("onnxruntime") else {}, self._allowed(outputs))

    def _allowed(self, outputs: Sequence[str]) -> dict[str, float]:
        """Floats that are not exact are left to the judge, who knows how they are rounded."""
        stepped = {name: self.steps[name] for name in outputs if self.steps.get(name)}
        others = {name for name in outputs if self.exact[name] or self.values[name].dtype.kind != "f"}
        return {**dict.fromkeys(others, EXACTLY), **stepped}

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


def _our_values(model: ModelProto, feeds: dict[str, Array]) -> list[Array] | None:
    """Where no other runtime is installed."""
    try:
        graph = pipeline.import_model(model)
    except CompileError:
        return None
    values = evaluate(graph, feeds)
    return [values[name] for name in graph.outputs]


def _small(value: Array) -> bool:
    return value.dtype.kind != "f" or float(np.abs(value).max(initial=0.0)) < MAX_EXACT


def _has_few_bits(value: Array) -> bool:
    """Whether it is of multiples of 1/8: weights that a family draws by itself are not."""
    if value.dtype.kind != "f":
        return True
    eighths = value.astype(np.float64) * 8
    return np.array_equal(eighths, np.round(eighths), equal_nan=True)


Maker = Callable[[Net], None]
"""Adds a node, or some."""


def grown(net: Net, makers: Mapping[Maker, int], nodes: int) -> Case:
    """A graph of so many nodes or a few more, by makers that are tried as often as their numbers say."""
    for _ in range(3 * nodes):
        if len(net.nodes) < nodes:
            net.choices.weighted(dict(makers))(net)
    return net.case()

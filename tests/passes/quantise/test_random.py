"""Random networks, quantised here and there: every quantised tensor is what ONNX Runtime makes of the ones before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto

from tests.passes.quantise.test_rules import lowered
from tests.support.examples import examples
from tests.support.models import model, node
from tests.support.quantiser import Style, quantise, run_onnxruntime
from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array, Shape

FUNCTIONS = (
    "Sigmoid",
    "Tanh",
    "HardSwish",
    "Gelu",
    "Elu",
    "LeakyRelu",
    "Softplus",
    "Mish",
    "Relu",
    "Erf",
    "Neg",
    "Abs",
)
INPUT = (1, 6, 8, 8)


@dataclass
class Network:
    """Grows by one operator at a time, each on a tensor that is there already."""

    random: np.random.Generator
    nodes: list[NodeProto] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=lambda: {"x": INPUT})

    def grow(self) -> None:
        steps = (self.convolution, self.function, self.function, self.rows, self.channels, self.resize, self.pair)
        source = str(self.random.choice(list(self.shapes)))
        steps[self.random.integers(len(steps))](source, f"t{len(self.nodes)}")

    def constant(self, *shape: int, scale: float = 1.0) -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = (self.random.standard_normal(shape) * scale).astype(np.float32)
        return name

    def add(self, kind: str, inputs: str, output: str, shape: Shape, **attributes: object) -> None:
        self.nodes.append(node(kind, inputs, output, **attributes))
        self.shapes[output] = shape

    def convolution(self, x: str, y: str) -> None:
        weight, bias = self.constant(6, 6, 3, 3, scale=0.3), self.constant(6)
        self.add("Conv", f"{x} {weight} {bias}", y, self.shapes[x], pads=[1] * 4)

    def function(self, x: str, y: str) -> None:
        self.add(str(self.random.choice(FUNCTIONS)), x, y, self.shapes[x])

    def rows(self, x: str, y: str) -> None:
        axis = int(self.random.integers(1, 4))
        row = self.shapes[x][axis:]
        inputs = f"{x} {self.constant(*row)} {self.constant(*row)}"
        self.add("LayerNormalization", inputs, y, self.shapes[x], axis=axis)

    def channels(self, x: str, y: str) -> None:
        self.add("InstanceNormalization", f"{x} {self.constant(6)} {self.constant(6)}", y, self.shapes[x])

    def resize(self, x: str, y: str) -> None:
        scales = np.array([1, 1, *self.random.choice([0.5, 1, 1.5], 2)], np.float32)
        sizes = tuple(int(size * scale) for size, scale in zip(self.shapes[x], scales, strict=True))
        if min(sizes) < 2 or max(sizes) > 40:
            return self.function(x, y)
        self.constants[f"scales_{y}"] = scales
        return self.add("Resize", f"{x} - scales_{y}", y, sizes, mode="linear")

    def pair(self, x: str, y: str) -> None:
        others = [self.constant(6, 1, 1), *(name for name, shape in self.shapes.items() if shape == self.shapes[x])]
        kind = str(self.random.choice(["Add", "Sub", "Mul"]))
        self.add(kind, f"{x} {self.random.choice(others)}", y, self.shapes[x])


def quantised_network(random: np.random.Generator) -> tuple[ModelProto, dict[str, Array]]:
    network = Network(random)
    for _ in range(random.integers(1, 8)):
        network.grow()
    *inner, last = (n.output[0] for n in network.nodes)
    made = model(network.nodes, {"x": INPUT}, [last], network.constants, opset=20)
    feeds = {"x": random.standard_normal(INPUT).astype(np.float32)}
    skip = {name for name in (*inner, *network.constants) if random.random() < 0.5}
    return quantise(made, feeds, Style(activation=str(random.choice(["int8", "uint8"])), skip=skip)), feeds


def from_true_operands(graph: Graph, feeds: Mapping[str, Array], true: Mapping[str, Array]) -> dict[str, Array]:
    """Every tensor, computed from the true values of the quantised tensors before it."""
    values, found = {**graph.constants, **feeds}, dict[str, Array]()
    for n in graph.nodes:
        for name, value in zip(n.outputs, evaluate_node(graph, n, values), strict=False):
            found[name] = value
            values[name] = true[name] if name in true and value.dtype.itemsize == 1 else value
    return found


@pytest.mark.in_turns(3)
@examples(150)
@given(st.integers(0, 2**32))
def test_random_networks(seed: int) -> None:
    quantised, feeds = quantised_network(np.random.default_rng(seed))
    wanted = run_onnxruntime(quantised, feeds)
    found = from_true_operands(lowered(quantised), feeds, wanted)
    names = [n.output[0] for n in quantised.graph.node if n.op_type == "QuantizeLinear"]
    for name in set(names) & set(found):
        apart = np.abs(found[name].astype(int) - wanted[name].astype(int))
        assert apart.max(initial=0) <= 1, name
        # Where a rounding lies just in the middle of two levels for a whole tensor, floats decide at random.
        assert np.mean(apart) < 0.2, name

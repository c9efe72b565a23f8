"""Networks whose activations are quantised when they run: products of bytes are scaled to floats in one kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from numpy.random import Generator, default_rng
from onnx import helper, numpy_helper

from tests.support.tflite_cases import HYBRID
from tests.targets.cpu.machine import PROCESSORS_TESTED, needs, run_graph
from tilewright import pipeline
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops.abs import Abs
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.div import Div
from tilewright.ops.floor import Floor
from tilewright.ops.max import Max
from tilewright.ops.mul import Mul
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.sign import Sign
from tilewright.target.processors import NATIVE, Dot, vectors_of
from tilewright.targets.cpu.scaled_forms import ScaledProduct

KERNELS = {"quantised_range", "conv_dot_scaled"}
DEEP = 2
"""Layers with one filter for each channel, whose zero points are subtracted from totals."""


class Model:
    """An ONNX model with one dynamically quantised layer after another, each an output too."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: dict[str, Array] = {}
        self.outputs: list[str] = []

    def constant(self, name: str, value: Array) -> str:
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def layer(self, random: Generator, kind: str, x: Array, w: Array, relu: bool = False, **attributes: object) -> None:
        """As onnxruntime.quantization.quantize_dynamic writes it."""
        name, is_image = f"n{len(self.outputs)}", kind == "ConvInteger"
        filters = w.shape[0] if is_image else w.shape[-1]
        self.inputs[name] = x
        scale = self.constant(
            f"{name}_scale", np.asarray(random.uniform(0.001, 0.02, () if is_image else filters), np.float32)
        )
        bias = self.constant(
            f"{name}_bias", random.normal(size=(1, filters, 1, 1) if is_image else filters).astype(np.float32)
        )
        self._add("DynamicQuantizeLinear", [name], [f"{name}_q", f"{name}_s", f"{name}_z"])
        operands = [f"{name}_q", self.constant(f"{name}_w", w), f"{name}_z"]
        self._add(kind, operands, [f"{name}_total"], **attributes)
        self._add("Cast", [f"{name}_total"], [f"{name}_float"], to=onnx.TensorProto.FLOAT)
        self._add("Mul", [f"{name}_s", scale], [f"{name}_scales"])
        self._add("Mul", [f"{name}_float", f"{name}_scales"], [f"{name}_scaled"])
        self._add("Add", [bias, f"{name}_scaled"], [f"{name}_sum" if relu else f"{name}_y"])
        if relu:
            self._add("Relu", [f"{name}_sum"], [f"{name}_y"])
        self.outputs.append(f"{name}_y")

    def _add(self, kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: object) -> None:
        self.nodes.append(helper.make_node(kind, inputs, outputs, outputs[0], **attributes))

    def graph(self) -> Graph:
        ends = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, x.shape) for n, x in self.inputs.items()]
        results = [helper.make_empty_tensor_value_info(name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "scaled", ends, results, self.constants)
        return pipeline.import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


def weights(random: Generator, *shape: int) -> Array:
    return random.integers(-127, 128, shape).astype(np.int8)


def model(random: Generator) -> Model:
    made = Model()
    for rows, length, columns in ((11, 40, 19), (1, 64, 24), (1, 20, 5), (2, 16, 8)):
        x = random.normal(0.4, 3.0, (rows, length)).astype(np.float32)
        made.layer(random, "MatMulInteger", x, weights(random, length, columns), relu=rows > 1)
    for batch, channels, filters, stride in ((1, 3, 8, 2), (2, 16, 11, 1)):
        x = random.normal(-0.5, 2.0, (batch, channels, 9, 7)).astype(np.float32)
        w = weights(random, filters, channels, 3, 3)
        made.layer(random, "ConvInteger", x, w, stride == 1, strides=[stride, stride], pads=[1, 1, 0, 2])
    deep = random.normal(size=(1, 24, 9, 8)).astype(np.float32)
    made.layer(random, "ConvInteger", deep, weights(random, 24, 1, 3, 3), group=24, pads=[1, 1, 1, 1])
    made.layer(random, "ConvInteger", deep, weights(random, 24, 1, 2, 2), group=24)
    below_zero = -abs(random.normal(size=(1, 64, 6, 6))).astype(np.float32)
    made.layer(random, "ConvInteger", below_zero, weights(random, 24, 64, 1, 1))
    made.layer(random, "MatMulInteger", np.zeros((3, 12), np.float32), weights(random, 12, 4))
    for place in (5, -1):  # in vectors, and behind them
        odd = random.normal(size=(3, 41)).astype(np.float32)
        odd.reshape(-1)[place] = np.nan
        made.layer(random, "MatMulInteger", odd, weights(random, 41, 4))
    return made


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("processor", PROCESSORS_TESTED)
def test_layers_equal_numpy(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(processor)
    made = model(default_rng(3))
    used = run_graph(made.graph(), made.inputs, processor, monkeypatch)
    assert used >= KERNELS
    assert not used & {"matmul_plain", "conv_plain", "quantizelinear", "reducemin"}


def test_few_operators_remain() -> None:
    made = model(default_rng(5))
    nodes = pipeline.stage(made.graph(), "cpu", "lowered").nodes
    layers = len(made.outputs)
    kinds = [node.op.kind for node in nodes]
    assert kinds.count("QuantisedRange") == layers
    assert kinds.count("ScaledProduct") == layers - DEEP
    assert kinds.count("Conv") == kinds.count("Sub") == DEEP
    assert not {"MatMul", "ReduceMin"} & set(kinds)


@pytest.mark.fast
def test_totals_that_others_read_stay() -> None:
    """A product whose totals are an output is no part of what scales them."""
    made = Model()
    made.layer(default_rng(1), "MatMulInteger", np.ones((4, 8), np.float32), np.ones((8, 8), np.int8))
    made.outputs.append("n0_scaled")
    (scaled,) = [n.op for n in pipeline.stage(made.graph(), "cpu", "lowered").nodes if isinstance(n.op, ScaledProduct)]
    assert scaled.activation is None
    made.outputs.append("n0_total")
    nodes = pipeline.stage(made.graph(), "cpu", "lowered").nodes
    assert not any(isinstance(node.op, ScaledProduct) for node in nodes)


@pytest.mark.fast
def test_scales_with_more_axes_stay() -> None:
    """Totals of a matrix that a bias gives a third axis."""
    made = Model()
    made.layer(default_rng(1), "MatMulInteger", np.ones((4, 8), np.float32), np.ones((8, 8), np.int8))
    (bias,) = [one for one in made.constants if one.name == "n0_bias"]
    bias.dims[:] = [1, 1, 8]
    graph = pipeline.stage(made.graph(), "cpu", "lowered")
    assert graph.types[graph.outputs[0]].shape == (1, 4, 8)
    assert [node.op.kind for node in graph.nodes].count("ScaledProduct") == 1


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("name", HYBRID)
def test_floats_with_small_weights(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow Lite's: rows have a scale each, images a zero point."""
    random = default_rng(8)
    graph = pipeline.import_model(HYBRID[name](random))
    x = random.normal(size=graph.types[graph.inputs[0]].shape).astype(np.float32)
    used = run_graph(graph, {graph.inputs[0]: x}, "native", monkeypatch)
    deep = "depthwise_lanes" if vectors_of(NATIVE).dot in (Dot.VNNI, Dot.MADDUBS) else "depthwise_dot"
    assert (deep if name == "depthwise" else "conv_dot_scaled") in used
    assert ("symmetric_range" in used) == (name in ("conv", "connected"))


@pytest.mark.parametrize("processor", PROCESSORS_TESTED)
def test_ties_go_away_from_zero(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halves of steps, a row of zeros, one where everything is tiny, and two with what is not a number."""
    needs(processor)
    random = default_rng(9)
    b = Builder("ties")
    rows = TensorType("float32", (6, 75))
    b.input("x", rows)
    values = (random.integers(-254, 255, rows.shape) / 2).astype(np.float32)
    values[:, 0], values[2], values[3] = -127.0, 0.0, values[3] * np.float32(1e-36)
    values[4, 9] = values[5, 74] = np.nan
    made = symmetric(b, "x")
    for tensor in made:
        b.output(tensor)
    used = run_graph(b.build(), {"x": values}, processor, monkeypatch)
    assert used == {"symmetric_range"}


def symmetric(b: Builder, x: str) -> tuple[str, str]:
    """As the front end writes it: bytes, and the scale of each row."""
    number = {value: b.constant(np.asarray(value, np.float32), "number") for value in (0.5, 127.0, 1e-30)}
    (most,) = b.add(Max(), [*b.add(ReduceMax((1,), True), b.add(Abs(), [x])), number[1e-30]])
    (exact,) = b.add(Mul(), [x, *b.add(Div(), [number[127.0], most])])
    up = b.add(Floor(), b.add(Add(), [*b.add(Abs(), [exact]), number[0.5]]))
    (integers,) = b.add(Cast("int8"), b.add(Mul(), [*b.add(Sign(), [exact]), *up]))
    (scale,) = b.add(Div(), [most, number[127.0]])
    return integers, scale

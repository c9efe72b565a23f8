"""Quantised models become integer arithmetic that agrees with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

from tests.support.models import model, node
from tests.support.quantiser import Feeds, Style, quantise, run_onnxruntime
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.matmul import MatMul
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes import apply
from tilewright.passes.quantise.rules import QUANTISE

pytestmark = pytest.mark.fast

RANDOM = np.random.default_rng(3)
STYLES = {
    "int8": Style(),
    "uint8": Style(activation="uint8"),
    "uint8 weights": Style(activation="uint8", weight="uint8", per_channel=False, symmetric_weights=False),
    "asymmetric channels": Style(symmetric_weights=False),
    "float bias": Style(int32_bias=False),
}


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order() -> None:
    RANDOM.bit_generator.state = np.random.default_rng(3).bit_generator.state


def floats(*shape: int, scale: float = 1.0) -> Array:
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def lowered(quantised: ModelProto) -> Graph:
    return apply(pipeline.import_model(quantised), (QUANTISE,))


def check(quantised: ModelProto, feeds: Feeds, allowed: Sequence[str] = (), equal: float = 0.99) -> Graph:
    """Every quantised tensor agrees with ONNX Runtime's, and no float is computed between quantised tensors."""
    graph = lowered(quantised)
    found, wanted = evaluate(graph, feeds), run_onnxruntime(quantised, feeds)
    for name in wanted:
        if name in found and found[name].dtype.name in ("int8", "uint8", "int16", "uint16"):
            agree(name, found[name], wanted[name], equal)
    for tensor, name in zip(graph.outputs, graph.output_names, strict=True):
        if graph.producers[tensor].op.kind != "DequantizeLinear":
            np.testing.assert_allclose(found[tensor], wanted[name], atol=1e-5 * float(np.abs(wanted[name]).max()))
    kept = [n for n in graph.nodes if graph.types[n.key].dtype == "float32" and n.op.kind != "DequantizeLinear"]
    assert [n.op.kind for n in kept] == list(allowed), str(graph)
    assert graph.notes == () or allowed, graph.notes
    return graph


def agree(name: str, found: Array, wanted: Array, equal: float = 0.99) -> None:
    apart = np.abs(found.astype(int) - wanted.astype(int))
    assert apart.max(initial=0) <= 1, f"{name}: {apart.max()} apart"
    # One element of a small tensor may round the other way.
    assert np.count_nonzero(apart) <= max(1, (1 - equal) * apart.size), f"{name}: {np.mean(apart == 0):.2%} equal"


def kinds(graph: Graph) -> list[str]:
    return [n.op.kind for n in graph.nodes if n.op.kind not in ("QuantizeLinear", "DequantizeLinear", "Identity")]


# ---- convolutions and products ------------------------------------------------------------------------------------


def conv(shape: tuple[int, ...], weight: tuple[int, ...], **attributes: object) -> tuple[ModelProto, Feeds]:
    nodes = [node("Conv", "x w b", "c", **attributes), node("Relu", "c", "y")]
    constants = {"w": floats(*weight, scale=0.3), "b": floats(weight[0])}
    return model(nodes, {"x": shape}, ["y"], constants), {"x": floats(*shape)}


CONVS = {
    "plain": conv((2, 3, 8, 9), (5, 3, 3, 3)),
    "padded": conv((1, 3, 8, 9), (5, 3, 3, 3), pads=[1, 0, 2, 1], strides=[2, 1]),
    "depthwise": conv((1, 6, 9, 9), (6, 1, 3, 3), group=6, pads=[1, 1, 1, 1]),
    "grouped": conv((1, 6, 9, 9), (4, 3, 3, 3), group=2, dilations=[2, 1]),
    "line": conv((1, 4, 30), (8, 4, 5), pads=[2, 2]),
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", CONVS)
def test_conv(case: str, style: str) -> None:
    quantised = quantise(*CONVS[case], replace(STYLES[style], skip=("c",)))
    assert kinds(check(quantised, CONVS[case][1])) == ["Conv"]


@pytest.mark.parametrize("style", ["int8", "uint8"])
def test_a_border_before_a_convolution_is_the_zero_point(style: str) -> None:
    nodes = [node("Pad", "x pads", "p"), node("Conv", "p w", "y")]
    constants = {"pads": np.array([0, 0, 1, 2, 0, 0, 1, 0]), "w": floats(5, 3, 3, 3)}
    feeds = {"x": floats(1, 3, 8, 9) + np.float32(1)}
    quantised = quantise(
        model(nodes, {"x": (1, 3, 8, 9)}, ["y"], constants), feeds, replace(STYLES[style], skip=("p",))
    )
    assert kinds(check(quantised, feeds)) == ["Pad", "Conv"]


def test_a_clamp_may_be_turned_round() -> None:
    """What is clamped from below is clamped from above after a negative factor."""
    nodes = [node("Conv", "x w b", "c"), node("Clip", "c low high", "r"), node("Mul", "r factor", "y")]
    bounds = {"low": np.float32(-0.2), "high": np.float32(1.5), "factor": np.float32(-2)}
    feeds = {"x": floats(1, 3, 8, 9)}
    made = model(nodes, {"x": (1, 3, 8, 9)}, ["y"], {"w": floats(5, 3, 3, 3), "b": floats(5), **bounds})
    quantised = quantise(made, feeds, replace(STYLES["int8"], skip=("c", "r", "factor")))
    assert kinds(check(quantised, feeds)) == ["Conv"]


@pytest.mark.parametrize("style", STYLES)
def test_transposed_convolution(style: str) -> None:
    nodes = [node("ConvTranspose", "x w b", "y", strides=[2, 2], pads=[1, 1, 0, 0], group=2)]
    made = model(nodes, {"x": (1, 4, 5, 6)}, ["y"], {"w": floats(4, 3, 3, 3), "b": floats(6)})
    # ONNX Runtime's bias scale needs as many values as there are filters.
    feeds = {"x": floats(1, 4, 5, 6)}
    assert kinds(check(quantise(made, feeds, replace(STYLES[style], int32_bias=False)), feeds)) == ["ConvTranspose"]


@pytest.mark.parametrize("style", STYLES)
def test_gemm(style: str) -> None:
    nodes = [node("Gemm", "x w b", "g", transB=1, alpha=0.5, beta=2.0), node("Clip", "g low high", "y")]
    constants = {"w": floats(7, 20), "b": floats(7), "low": np.float32(-1), "high": np.float32(2.5)}
    feeds = {"x": floats(6, 20)}
    quantised = quantise(model(nodes, {"x": (6, 20)}, ["y"], constants), feeds, replace(STYLES[style], skip=("g",)))
    assert kinds(check(quantised, feeds)) == ["MatMul"]


def test_attention_multiplies_two_tensors_of_the_run() -> None:
    nodes = [
        node("MatMul", "x wq", "q"), node("MatMul", "x wk", "k"), node("MatMul", "x wv", "v"),
        node("Transpose", "k", "kt", perm=[0, 2, 1]), node("MatMul", "q kt", "s"), node("Mul", "s scale", "t"),
        node("Softmax", "t", "p", axis=-1), node("MatMul", "p v", "y"),
    ]  # fmt: skip
    constants = {name: floats(16, 16, scale=0.3) for name in ("wq", "wk", "wv")} | {"scale": np.float32(0.25)}
    feeds = {"x": floats(2, 10, 16)}
    made = model(nodes, {"x": (2, 10, 16)}, ["y"], constants)
    for style in (Style(), Style(activation="uint8", per_channel=False)):
        graph = check(quantise(made, feeds, style), feeds)
        assert kinds(graph).count("MatMul") == 5
        assert kinds(graph).count("QLinearSoftmax") == 1


def test_a_bias_may_be_added_after_the_product() -> None:
    nodes = [node("MatMul", "x w", "p"), node("Add", "p b", "s"), node("Relu", "s", "y")]
    feeds = {"x": floats(3, 5, 16)}
    made = model(nodes, {"x": (3, 5, 16)}, ["y"], {"w": floats(16, 9), "b": floats(9)})
    assert kinds(check(quantise(made, feeds, Style(skip=("p", "s"))), feeds)) == ["MatMul"]


def test_a_batch_normalisation_becomes_part_of_the_convolution() -> None:
    nodes = [
        node("Conv", "x w b", "c", pads=[1, 1, 1, 1]), node("BatchNormalization", "c g h m v", "n"),
        node("Relu", "n", "y"),
    ]  # fmt: skip
    constants = {"w": floats(4, 3, 3, 3), "b": floats(4), "g": floats(4), "h": floats(4), "m": floats(4)}
    constants["v"] = np.abs(floats(4)) + np.float32(0.5)
    feeds = {"x": floats(1, 3, 10, 10)}
    made = model(nodes, {"x": (1, 3, 10, 10)}, ["y"], constants)
    quantised = quantise(made, feeds, Style(skip=("c", "n")))
    assert kinds(check(quantised, feeds)) == ["Conv"]
    assert kinds(check(quantise(made, feeds, Style(skip=("n",))), feeds)) == ["Conv", "RequantShift"]


def test_weights_may_be_transposed_in_the_graph() -> None:
    nodes = [
        node("DequantizeLinear", "w ws wz", "wd", axis=0), node("Transpose", "wd", "wt", perm=[1, 0]),
        node("QuantizeLinear", "x xs xz", "xq"), node("DequantizeLinear", "xq xs xz", "xd"),
        node("MatMul", "xd wt", "p"), node("QuantizeLinear", "p ys xz", "yq"),
        node("DequantizeLinear", "yq ys xz", "y"),
    ]  # fmt: skip
    constants = {
        "w": RANDOM.integers(-127, 128, (5, 12)).astype(np.int8), "ws": np.abs(floats(5)) / 100 + np.float32(0.001),
        "wz": np.zeros(5, np.int8), "xs": np.float32(0.02), "xz": np.int8(3), "ys": np.float32(0.1),
    }  # fmt: skip
    graph = check(model(nodes, {"x": (4, 12)}, ["y"], constants), {"x": floats(4, 12)})
    assert kinds(graph) == ["MatMul"]


def test_a_filter_without_weights_keeps_its_bias() -> None:
    """Its scale is tiny, so that the bias in that unit does not fit 32 bits."""
    made, feeds = conv((1, 3, 6, 6), (4, 3, 3, 3))
    quantised = quantise(made, feeds, Style(skip=("c",), int32_bias=False))
    for tensor in quantised.graph.initializer:
        if tensor.name == "w_s":
            scales = np.frombuffer(tensor.raw_data, np.float32).copy()
            scales[1] = 1e-30
            tensor.raw_data = scales.tobytes()
    assert kinds(check(quantised, feeds)) == ["Conv"]


def test_a_factor_of_zero() -> None:
    nodes = [node("Conv", "x w", "c"), node("Mul", "c f", "y"), node("Add", "x x", "a"), node("Mul", "a z", "b")]
    constants = {"w": floats(4, 3, 1, 1), "f": np.array([1, 0, 0, -2], np.float32).reshape(4, 1, 1), "z": np.float32(0)}
    made = model(nodes, {"x": (1, 3, 6, 6)}, ["y", "b"], constants)
    feeds = {"x": floats(1, 3, 6, 6)}
    check(quantise(made, feeds, Style(skip=("c", "a"))), feeds)


def test_a_result_that_nothing_quantises_is_dequantised_from_its_sums() -> None:
    made, feeds = conv((1, 3, 6, 6), (4, 3, 3, 3))
    graph = check(quantise(made, feeds, Style(skip=("c", "y"))), feeds, allowed=["Relu"])
    assert {graph.types[name].dtype for name in graph.constants if "w" in name} <= {"int8", "float32"}
    assert kinds(graph) == ["Conv", "Relu"]


# ---- sums, products, functions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "style", "other"),
    list(product(["Add", "Sub", "Mul"], ["int8", "uint8"], [(2, 6, 5, 5), (6, 1, 1), (1,), ()])),
)
def test_two_operands(kind: str, style: str, other: tuple[int, ...]) -> None:
    made = model([node(kind, "a b", "y")], {"a": (2, 6, 5, 5), "b": other}, ["y"])
    feeds = {"a": floats(2, 6, 5, 5), "b": np.asarray(floats(*other) + np.float32(2), np.float32)}
    operator = {"Add": "QLinearAdd", "Sub": "QLinearAdd", "Mul": "QLinearMul"}[kind]
    assert kinds(check(quantise(made, feeds, STYLES[style]), feeds)) == [operator]


CONSTANT_OPERANDS = [
    *product(["Add", "Sub", "Mul"], [(), (4, 1, 1), (4, 5, 5)], [False, True]),
    *product(["Div"], [(), (4, 1, 1)], [False]),
]


@pytest.mark.parametrize(("kind", "shape", "swapped"), CONSTANT_OPERANDS)
def test_constant_operands(kind: str, shape: tuple[int, ...], swapped: bool) -> None:
    nodes = [node(kind, "w x" if swapped else "x w", "y")]
    made = model(nodes, {"x": (1, 4, 5, 5)}, ["y"], {"w": np.asarray(np.abs(floats(*shape)) + np.float32(0.5))})
    feeds = {"x": floats(1, 4, 5, 5)}
    quantised = quantise(made, feeds, Style())
    check(quantised, feeds)


def with_a_float_constant(kind: str, x: Array, w: Array, activation: str) -> ModelProto:
    """Of the same shape, between two quantisers that are as fine as x and the result allow."""
    most = np.iinfo(activation).max
    result = {"Add": x + w, "Sub": x - w, "Mul": x * w}[kind]
    constants = {"w": w, "z": np.zeros((), activation)}
    constants |= {name: np.float32(np.abs(a).max() / most or 1.0) for name, a in (("s", x), ("t", result))}
    nodes = [
        node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"), node(kind, "d w", "a"),
        node("QuantizeLinear", "a t z", "r"), node("DequantizeLinear", "r t z", "y"),
    ]  # fmt: skip
    return model(nodes, {"x": x.shape}, ["y"], constants, opset=21)


@pytest.mark.parametrize("quantised", [False, True])
def test_zeros_take_no_bits_of_what_they_are_added_to(quantised: bool) -> None:
    """They are quantised with a scale of 1, and what they are added to is small."""
    nodes = [node("MatMul", "x v", "p"), node("Add", "p w", "y")]
    constants = {"v": floats(16, 9, scale=1e-3), "w": np.zeros((20, 9), np.float32)}
    made, feeds = model(nodes, {"x": (20, 16)}, ["y"], constants), {"x": floats(20, 16, scale=1e-2)}
    made = quantise(made, feeds, Style(skip=("p",)))
    if not quantised:
        sums = next(each for each in made.graph.node if each.op_type == "Add")
        sums.input[1] = "w"
        made.graph.initializer.append(numpy_helper.from_array(constants["w"], "w"))
    assert kinds(check(made, feeds)) == ["MatMul", "QLinearAdd"]


@pytest.mark.parametrize("activation", ["int8", "int16"])
def test_a_constant_for_each_element_is_added_to_a_small_part_of_a_step(activation: str) -> None:
    """Such as an embedding of positions."""
    x, w = floats(1, 60, 40), floats(1, 60, 40)
    graph = check(with_a_float_constant("Add", x, w, activation), {"x": x}, equal=0.998)
    assert kinds(graph) == ["QLinearAdd"]


def test_residual_branches_share_what_they_read() -> None:
    nodes = [
        node("Conv", "x w b", "c", pads=[1, 1, 1, 1]), node("Add", "c x", "s"), node("Relu", "s", "r"),
        node("Conv", "r w b", "d", pads=[1, 1, 1, 1]), node("Add", "d r", "y"),
    ]  # fmt: skip
    made = model(nodes, {"x": (1, 4, 7, 7)}, ["y"], {"w": floats(4, 4, 3, 3, scale=0.2), "b": floats(4)})
    feeds = {"x": floats(1, 4, 7, 7)}
    assert kinds(check(quantise(made, feeds, Style(skip=("s",))), feeds)) == [
        "Conv",
        "QLinearAdd",
        "Conv",
        "QLinearAdd",
    ]
    # As exporters for inference libraries do it: only what a convolution reads is quantised.
    sparse = quantise(made, feeds, Style(skip=("c", "s", "d")))
    assert kinds(check(sparse, feeds)) == ["Conv", "QLinearAdd", "Conv", "QLinearAdd"]


@pytest.mark.parametrize("activation", ["int8", "int16"])
def test_sums_of_sums_that_nothing_quantises(activation: str) -> None:
    nodes = [
        node("Conv", "x w b", "c"), node("Conv", "x v b", "d"), node("Add", "c d", "s"), node("Conv", "x w", "e"),
        node("Sub", "s e", "t"), node("Relu", "t", "y"),
    ]  # fmt: skip
    constants = {"w": floats(4, 3, 3, 3), "v": floats(4, 3, 3, 3), "b": floats(4)}
    made = model(nodes, {"x": (1, 3, 7, 7)}, ["y"], constants, opset=21)
    feeds = {"x": floats(1, 3, 7, 7)}
    quantised = quantise(made, feeds, Style(activation=activation, skip=("c", "d", "s", "e", "t")))
    assert kinds(check(quantised, feeds)).count("QLinearAdd") == 2


UNARY = ["Sigmoid", "Tanh", "HardSwish", "Elu", "Exp", "LeakyRelu", "Softplus", "Abs", "Neg", "Erf", "HardSigmoid"]


@pytest.mark.parametrize("kind", UNARY)
def test_functions_are_tables(kind: str) -> None:
    made = model([node(kind, "x", "y")], {"x": (2, 3, 50)}, ["y"])
    feeds = {"x": floats(2, 3, 50, scale=2)}
    assert kinds(check(quantise(made, feeds, STYLES["uint8"]), feeds)) == ["Lookup"]


def test_chains_of_functions_are_one_table() -> None:
    nodes = [
        node("Sigmoid", "x", "s"), node("Mul", "x s", "m"), node("Div", "m root", "d"), node("Erf", "d", "e"),
        node("Add", "e one", "a"), node("Mul", "a m", "y"),
    ]  # fmt: skip
    made = model(nodes, {"x": (3, 70)}, ["y"], {"root": np.float32(1.41), "one": np.float32([1])})
    feeds = {"x": floats(3, 70, scale=2)}
    assert kinds(check(quantise(made, feeds, Style(skip=("s", "m", "d", "e", "a"))), feeds)) == ["Lookup"]


def test_channels_with_functions_of_their_own_have_tables_of_their_own() -> None:
    made = model([node("PRelu", "x w", "y")], {"x": (2, 6, 5, 5)}, ["y"], {"w": floats(6, 1, 1)})
    feeds = {"x": floats(2, 6, 5, 5)}
    graph = check(quantise(made, feeds), feeds)
    assert kinds(graph) == ["Lookup"]
    assert (6, 256) in [graph.types[name].shape for name in graph.constants]


def test_squeeze_and_excite() -> None:
    nodes = [
        node("GlobalAveragePool", "x", "p"), node("Conv", "p w1 b1", "c"), node("Relu", "c", "r"),
        node("Conv", "r w2 b2", "d"), node("HardSigmoid", "d", "h"), node("Mul", "h x", "m"),
        node("HardSwish", "m", "y"),
    ]  # fmt: skip
    constants = {"w1": floats(2, 8, 1, 1), "b1": floats(2), "w2": floats(8, 2, 1, 1), "b2": floats(8)}
    feeds = {"x": floats(1, 8, 7, 9)}
    graph = check(quantise(model(nodes, {"x": (1, 8, 7, 9)}, ["y"], constants), feeds, Style(skip=("c",))), feeds)
    assert kinds(graph) == ["QLinearReduceMean", "Conv", "Conv", "Lookup", "QLinearMul", "Lookup"]


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("style", ["int8", "uint8"])
def test_softmax(axis: int, style: str) -> None:
    made = model([node("Softmax", "x", "y", axis=axis)], {"x": (5, 30, 20)}, ["y"])
    feeds = {"x": floats(5, 30, 20, scale=3)}
    assert kinds(check(quantise(made, feeds, STYLES[style]), feeds)) == ["QLinearSoftmax"]


# ---- means and movement -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attributes", [
    {"kernel_shape": [3, 3]}, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]},
    {"kernel_shape": [3, 3], "pads": [1, 0, 1, 2], "count_include_pad": 1},
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2], "ceil_mode": 1, "count_include_pad": 1},
])  # fmt: skip
def test_average_pool(attributes: dict[str, object]) -> None:
    made = model([node("AveragePool", "x", "y", **attributes)], {"x": (2, 20, 10, 11)}, ["y"])
    feeds = {"x": floats(2, 20, 10, 11) + np.float32(0.5)}
    for style in (Style(), Style(activation="uint8", same={"y": "x"})):
        # With one scale on both sides many means are exact ties, which ONNX Runtime's float sums decide at random.
        graph = check(quantise(made, feeds, style), feeds, equal=0.99 if style.same is None else 0.95)
        assert kinds(graph)[-1] == "QLinearAveragePool"


@pytest.mark.parametrize("axes", [[1], [2, 3], [-1], [0, 2]])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("kind", ["ReduceMean", "ReduceSum"])
def test_means_and_sums(kind: str, axes: list[int], keepdims: int) -> None:
    nodes = [node(kind, "x", "y", axes=axes, keepdims=keepdims)]
    feeds, made = {"x": floats(6, 7, 9, 5)}, model(nodes, {"x": (6, 7, 9, 5)}, ["y"], opset=12)
    assert kinds(check(quantise(made, feeds), feeds)) == ["QLinearReduceMean"]


MOVEMENT = {
    "reshape": [node("Reshape", "x shape", "y")],
    "transpose": [node("Transpose", "x", "y", perm=[0, 2, 3, 1])],
    "slice": [node("Slice", "x starts ends axes", "y")],
    "pad": [node("Pad", "x pads", "y")],
    "pad with a value": [node("Pad", "x pads value", "y")],
    "maxpool": [node("MaxPool", "x", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])],
    "depth to space": [node("DepthToSpace", "x", "y", blocksize=2)],
    "gather": [node("Gather", "x rows", "y", axis=1)],
    "resize": [node("Resize", "x - scales", "y", mode="nearest")],
    "concat": [node("Concat", "x w x", "y", axis=1)],
    "chain": [node("Relu", "x", "r"), node("MaxPool", "r", "m", kernel_shape=[2, 2]), node("Flatten", "m", "y")],
    "largest": [node("ReduceMax", "x", "y", axes=[2, 3], keepdims=1)],
    "max": [node("Max", "x w", "y")],
}  # fmt: skip
MOVEMENT_CONSTANTS = {
    "shape": np.array([4, -1]), "starts": np.array([1, 0]), "ends": np.array([3, 5]), "axes": np.array([1, 2]),
    "pads": np.array([0, 0, 1, 2, 0, 1, 0, 1]), "value": np.float32(0.7), "rows": np.array([3, 0, 1]),
    "scales": np.array([1, 1, 2, 2], np.float32), "w": floats(1, 4, 6, 6),
}  # fmt: skip


@pytest.mark.parametrize(("case", "same"), list(product(MOVEMENT, [False, True])))
def test_movement_commutes_with_rounding(case: str, same: bool) -> None:
    nodes = MOVEMENT[case]
    read = {name for n in nodes for name in n.input}
    constants = {name: array for name, array in MOVEMENT_CONSTANTS.items() if name in read}
    made = model(nodes, {"x": (1, 4, 6, 6)}, ["y"], constants)
    feeds = {"x": floats(1, 4, 6, 6)}
    style = Style(skip=("r", "m"), same={"y": "x"} if same else None)
    check(quantise(made, feeds, style), feeds)


def test_tensors_of_one_scale_are_not_changed() -> None:
    nodes = [node("MaxPool", "x", "m", kernel_shape=[2, 2]), node("Flatten", "m", "y")]
    feeds = {"x": floats(1, 4, 6, 6)}
    made = model(nodes, {"x": (1, 4, 6, 6)}, ["y"])
    assert kinds(check(quantise(made, feeds, Style(same={"m": "x", "y": "x"})), feeds)) == ["MaxPool", "Reshape"]


def by_rows_and_columns() -> Graph:
    """int8, one scale for each row, to int8, the same scales for the columns."""
    builder = Builder("rows")
    x = builder.input("x", TensorType("int8", (3, 3)))
    scale, zero = builder.constant(np.array([0.5, 1, 2], np.float32)), builder.constant(np.zeros(3, np.int8))
    (value,) = builder.add(DequantizeLinear(0), [x, scale, zero])
    builder.output(builder.add(QuantizeLinear(1), [value, scale, zero])[0])
    return builder.build()


def test_scales_of_another_axis_are_others() -> None:
    graph, feeds = by_rows_and_columns(), {"x": np.arange(9, dtype=np.int8).reshape(3, 3)}
    after = apply(graph, (QUANTISE,))
    np.testing.assert_array_equal(evaluate(after, feeds)[after.outputs[0]], evaluate(graph, feeds)[graph.outputs[0]])


def test_constants_along_two_axes_make_no_table() -> None:
    nodes = [node("Mul", "x column", "a"), node("Add", "a row", "b"), node("Sigmoid", "b", "y")]
    constants = {"column": floats(4, 1), "row": floats(6)}
    feeds = {"x": floats(4, 6)}
    made = model(nodes, {"x": (4, 6)}, ["y"], constants)
    quantised = quantise(made, feeds, Style(skip=("a", "b", "column", "row")))
    graph = lowered(quantised)
    assert "Lookup" not in kinds(graph)
    agree("y", *(values[graph.producers[graph.outputs[0]].inputs[0]] for values in (
        evaluate(graph, feeds), run_onnxruntime(quantised, feeds))))  # fmt: skip


def test_sums_that_may_overflow_stay_in_floats() -> None:
    feeds = {"x": np.ones((1, 140000), np.float32)}
    made = model([node("MatMul", "x w", "y")], {"x": (1, 140000)}, ["y"], {"w": np.ones((140000, 1), np.float32)})
    graph = lowered(quantise(made, feeds, Style()))
    assert "MatMul" in kinds(graph)
    assert all(n.op.requant is None for n in graph.nodes if isinstance(n.op, MatMul))
    assert any("overflow 32 bits" in note for note in graph.notes)


# ---- what stays in floats -----------------------------------------------------------------------------------------


def test_what_has_no_integer_form_stays_in_floats_with_a_note() -> None:
    nodes = [node("LRN", "x", "n", size=3), node("Sigmoid", "n", "y")]
    made = model(nodes, {"x": (1, 4, 5, 6)}, ["y"])
    feeds = {"x": floats(1, 4, 5, 6)}
    quantised = quantise(made, feeds, Style())
    graph = lowered(quantised)
    what, why = "node 'n' (LRN) stays in floats", "LRN has no integer form"
    assert graph.notes == (f"{what} between quantised tensors: {why}",)
    found, wanted = evaluate(graph, feeds), run_onnxruntime(quantised, feeds)
    for name in ("n_q", "y_q"):
        agree(name, found[name], wanted[name])


def test_a_float_model_is_not_changed() -> None:
    made, _ = conv((1, 3, 6, 6), (4, 3, 3, 3))
    graph = pipeline.import_model(made)
    assert str(apply(graph, (QUANTISE,))) == str(graph)


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_sixteen_bits(dtype: str) -> None:
    nodes = [
        node("Conv", "x w b", "c"), node("Relu", "c", "r"), node("Add", "r r", "s"),
        node("MaxPool", "s", "y", kernel_shape=[2, 2]),
    ]  # fmt: skip
    made = model(nodes, {"x": (1, 2, 8, 8)}, ["y"], {"w": floats(4, 2, 3, 3), "b": floats(4)}, opset=21)
    feeds = {"x": floats(1, 2, 8, 8)}
    check(quantise(made, feeds, Style(activation=dtype, skip=("c",))), feeds)

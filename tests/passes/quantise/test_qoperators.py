"""Operators that carry scales and zero points agree with ONNX Runtime's, and become integer arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tests.passes.quantise.test_rules import agree, kinds, lowered
from tests.support.quantiser import run_onnxruntime
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array, limits

pytestmark = pytest.mark.fast

RANDOM = np.random.default_rng(5)
MICROSOFT = "com.microsoft"
CODES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8}


def integers(dtype: str, *shape: int) -> Array:
    low, high = limits(dtype)
    return RANDOM.integers(low, high, shape, endpoint=True).astype(dtype)


def one_node(
    kind: str, inputs: list[Array | None], dtype: str, domain: str = "", variable: int = 1, **attributes: object
) -> tuple[ModelProto, dict[str, Array]]:
    """A model of one node, whose first `variable` arrays of integers (not scales) are inputs of the graph."""
    names = [f"i{position}" if array is not None else "" for position, array in enumerate(inputs)]
    tensors = [name for name, array in zip(names, inputs, strict=True) if array is not None and array.ndim > 1]
    fed = tensors[:variable]
    arrays = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    graph = helper.make_graph(
        [helper.make_node(kind, names, ["y"], "node", domain=domain, **attributes)],
        "one",
        [helper.make_tensor_value_info(name, CODES[dtype], arrays[name].shape) for name in fed],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(array, name) for name, array in arrays.items() if name not in fed],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=imports), {name: arrays[name] for name in fed}


def check(model: ModelProto, feeds: dict[str, Array], *wanted: str) -> None:
    graph = lowered(model)
    agree("y", evaluate(graph, feeds)[graph.outputs[0]], run_onnxruntime(model, feeds)["y"])
    assert kinds(graph) == list(wanted)


def scale(value: float) -> Array:
    return np.asarray(value, np.float32)


def zero(value: int, dtype: str) -> Array:
    return np.asarray(value + (128 if dtype == "uint8" else 0), dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("channels", [False, True])
def test_qlinearconv(dtype: str, channels: bool) -> None:
    scales = np.linspace(0.01, 0.05, 6).astype(np.float32) if channels else scale(0.02)
    zeros = np.full(scales.shape, zero(0, dtype), dtype)
    bias = RANDOM.integers(-5000, 5000, 6).astype(np.int32)
    inputs = [
        integers(dtype, 2, 4, 9, 9), scale(0.03), zero(7, dtype), integers(dtype, 6, 2, 3, 3), scales, zeros,
        scale(0.4), zero(-9, dtype), bias,
    ]  # fmt: skip
    check(*one_node("QLinearConv", inputs, dtype, group=2, pads=[1, 0, 1, 2], strides=[2, 1]), "Conv")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("variable", [1, 2])
def test_qlinearmatmul(dtype: str, variable: int) -> None:
    inputs = [
        integers(dtype, 2, 7, 16), scale(0.03), zero(7, dtype), integers(dtype, 16, 9), scale(0.02), zero(3, dtype),
        scale(0.2), zero(-9, dtype),
    ]  # fmt: skip
    check(*one_node("QLinearMatMul", inputs, dtype, variable=variable), "MatMul")


@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("with_bias", [False, True])
def test_qgemm(with_bias: bool, alpha: float) -> None:
    scales = np.linspace(0.01, 0.05, 9).astype(np.float32)
    bias = RANDOM.integers(-5000, 5000, 9).astype(np.int32) if with_bias else None
    inputs = [
        integers("uint8", 7, 16), scale(0.03), zero(7, "uint8"), integers("int8", 9, 16), scales,
        np.zeros(9, np.int8), bias, scale(0.3), zero(-9, "uint8"),
    ]  # fmt: skip
    check(*one_node("QGemm", inputs, "uint8", MICROSOFT, transB=1, alpha=alpha), "MatMul")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("kind", ["QLinearAdd", "QLinearMul"])
def test_two_operands(kind: str, dtype: str) -> None:
    inputs = [
        integers(dtype, 2, 5, 6), scale(0.03), zero(7, dtype), integers(dtype, 5, 1), scale(0.02), zero(3, dtype),
        scale(0.05), zero(-9, dtype),
    ]  # fmt: skip
    check(*one_node(kind, inputs, dtype, MICROSOFT, variable=2), kind)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(("kind", "operator", "attributes"), [
    ("QLinearSigmoid", "Lookup", {}),
    ("QLinearLeakyRelu", "Lookup", {"alpha": 0.1}),
    ("QLinearSoftmax", "QLinearSoftmax", {"axis": 1, "opset": 13}),
    ("QLinearGlobalAveragePool", "QLinearReduceMean", {"channels_last": 0}),
    ("QLinearAveragePool", "QLinearAveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
])  # fmt: skip
def test_one_operand(kind: str, operator: str, attributes: dict[str, object], dtype: str) -> None:
    small = kind in ("QLinearSigmoid", "QLinearSoftmax")
    result = scale(1 / 256 if small else 0.0437), zero(-128 if small else 3, dtype)
    inputs = [integers(dtype, 2, 3, 7, 9), scale(0.03), zero(7, dtype), *result]
    check(*one_node(kind, inputs, dtype, MICROSOFT, **attributes), operator)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("unit", [1 / 256, 1 / 255, 1 / 254.5, 0.0042, 0.9 / 200])
def test_softmax_has_the_levels_of_the_kernel_that_defines_it(unit: float, dtype: str) -> None:
    """Not a value is off: ONNX Runtime's kernel takes the whole part of 1 / scale."""
    inputs = [integers(dtype, 40, 5), scale(0.02), zero(0, dtype), scale(unit), zero(-128, dtype)]
    model, feeds = one_node("QLinearSoftmax", inputs, dtype, MICROSOFT, axis=1, opset=13)
    graph = lowered(model)
    found, wanted = evaluate(graph, feeds)[graph.outputs[0]], run_onnxruntime(model, feeds)["y"]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("unit", [1 / 256, 1 / 255, 0.0042, 0.0031])
def test_softmax_between_quantisers_has_the_scale_that_they_say(unit: float) -> None:
    """Up to a third of the elements are others in that kernel, by a step; what the network says is computed."""
    x, x_zero, y_zero = integers("int8", 40, 5), zero(0, "int8"), zero(-128, "int8")
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "x_scale", "x_zero"], ["a"]),
        helper.make_node("Softmax", ["a"], ["b"], axis=1),
        helper.make_node("QuantizeLinear", ["b", "y_scale", "y_zero"], ["y"]),
    ]
    constants = {"x_scale": scale(0.02), "x_zero": x_zero, "y_scale": scale(unit), "y_zero": y_zero}
    made = helper.make_graph(
        nodes, "one", [helper.make_tensor_value_info("x", TensorProto.INT8, x.shape)],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)])
    graph = lowered(model)
    assert kinds(graph) == ["QLinearSoftmax"]
    np.testing.assert_array_equal(evaluate(graph, {"x": x})[graph.outputs[0]], run_onnxruntime(model, {"x": x})["y"])


def test_qlinearconcat() -> None:
    inputs = [
        scale(0.05), zero(1, "int8"), integers("int8", 2, 3, 4), scale(0.05), zero(1, "int8"),
        integers("int8", 2, 2, 4), scale(0.03), zero(-7, "int8"),
    ]  # fmt: skip
    check(*one_node("QLinearConcat", inputs, "int8", MICROSOFT, variable=2, axis=1), "Lookup", "Concat")


def test_zero_points_may_be_absent() -> None:
    inputs = [integers("int8", 2, 3), scale(0.03), None, integers("int8", 2, 3), scale(0.02), None, scale(0.05)]
    model, feeds = one_node("QLinearAdd", inputs, "int8", MICROSOFT, variable=2)
    graph = lowered(model)
    wanted = np.clip(np.rint((feeds["i0"] * 0.03 + feeds["i3"] * 0.02) / 0.05), -128, 127)
    np.testing.assert_array_equal(evaluate(graph, feeds)["y"], wanted)


def test_what_is_not_supported_is_refused() -> None:
    inputs = [integers("int8", 2, 3, 7, 9), scale(0.03), zero(7, "int8"), scale(0.03), zero(7, "int8")]
    model, _ = one_node("QLinearGlobalAveragePool", inputs, "int8", MICROSOFT, channels_last=1)
    with pytest.raises(CompileError, match="channels_last is not supported"):
        lowered(model)
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1, "count_include_pad": 1}
    model, _ = one_node("QLinearAveragePool", inputs[:5], "int8", MICROSOFT, pads=[1, 0, 0, 1], **window)
    with pytest.raises(CompileError, match="behind the padding counts"):
        lowered(model)

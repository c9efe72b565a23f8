"""Elementwise operators: their meaning is ONNX's, and every form of a node is imported."""

from __future__ import annotations

import re
import warnings
from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.support import elementwise
from tests.support.checks import one_node_model, same
from tilewright.errors import CompileError
from tilewright.frontends.onnx import importer as frontend
from tilewright.ir.evaluate import evaluate
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops.cast import Cast
from tilewright.ops.clip import Clip
from tilewright.ops.div import Div
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.mod import Mod
from tilewright.ops.pow import Pow
from tilewright.ops.relu import Relu
from tilewright.ops.round import Round
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softplus import Softplus

pytestmark = pytest.mark.fast


# ---- import -------------------------------------------------------------------------------------------------------


def imported(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    graph = frontend.load(model)
    found = evaluate(graph, {name: feeds[name] for name in graph.inputs})
    return [found[name] for name in graph.outputs]


def check_import(
    kind: str, arrays: list[Array | None], constants: dict[str, Array] | None = None, **given: Any
) -> None:
    """An ONNX node, imported, means what ONNX's reference says."""
    inputs = {f"x{at}" if array is not None else "": array for at, array in enumerate(arrays)}
    model = one_node_model(kind, inputs, constants=constants, **given)
    feeds = {name: array for name, array in inputs.items() if array is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = ReferenceEvaluator(model).run(None, feeds)
    for found, value in zip(imported(model, feeds), wanted, strict=True):
        same(np.asarray(found), np.asarray(value))


def floats(*shape: int) -> Array:
    return elementwise.values("float32", shape, np.random.default_rng(sum(shape)))


def unit(*shape: int) -> Array:
    """Inside (-1, 1), where every function is defined."""
    return np.tanh(floats(*shape)) * np.float32(0.9)


UNARY = (
    "Abs Acosh Asin Asinh Acos Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity "
    "IsInf IsNaN LeakyRelu Log Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt "
    "Swish Tan Tanh ThresholdedRelu Dropout"
)


@pytest.mark.parametrize("kind", UNARY.split())
def test_functions_of_one_float(kind: str) -> None:
    domain = {"Acosh": 2 + np.abs(unit(2, 3)), "Log": np.abs(unit(2, 3)), "Sqrt": np.abs(unit(2, 3))}
    check_import(kind, [domain.get(kind, unit(2, 3))])


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("Celu", {"alpha": 2.0}),
        ("Elu", {"alpha": 2.0}),
        ("Gelu", {"approximate": "tanh"}),
        ("HardSigmoid", {"alpha": 0.5, "beta": 0.6}),
        ("IsInf", {"detect_negative": 0}),
        ("LeakyRelu", {"alpha": 0.1}),
        ("Selu", {"alpha": 2.0, "gamma": 3.0}),
        ("Shrink", {"lambd": 1.5, "bias": 1.5}),
        ("Swish", {"alpha": 0.5}),
        ("ThresholdedRelu", {"alpha": 2.0}),
    ],
)
def test_attributes(kind: str, attributes: dict[str, Any]) -> None:
    check_import(kind, [floats(3, 5)], **attributes)


@pytest.mark.parametrize("kind", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "Pow", "PRelu"])
def test_functions_of_two_floats(kind: str) -> None:
    check_import(kind, [np.abs(floats(2, 3, 4)), floats(3, 1)])


@pytest.mark.parametrize("kind", ["Max", "Min", "Sum", "Mean"])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_any_number_of_operands(kind: str, count: int) -> None:
    check_import(kind, [floats(2, 3), floats(3), floats(2, 1), floats(1), floats(2, 3)][:count])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("kind", ["Add", "Sub", "Mul", "Max", "Min", "Equal", "Less", "GreaterOrEqual", "BitwiseXor"])
def test_integers(kind: str, dtype: str) -> None:
    random = np.random.default_rng(7)
    check_import(kind, [elementwise.values(dtype, (4, 5), random), elementwise.values(dtype, (5,), random)])


@pytest.mark.parametrize("kind", ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"])
def test_comparisons(kind: str) -> None:
    check_import(kind, [np.round(floats(4, 5)), np.round(floats(5))])


@pytest.mark.parametrize("kind", ["And", "Or", "Xor", "Equal"])
def test_truth_values(kind: str) -> None:
    check_import(kind, [floats(4, 5) > 0, floats(4, 1) > 0])
    check_import("Not", [floats(4, 5) > 0])


@pytest.mark.parametrize("dtype", ["float32", "bool", "int8", "int64"])
def test_where(dtype: str) -> None:
    random = np.random.default_rng(3)
    check_import("Where", [floats(4, 1) > 0, *(elementwise.values(dtype, (3,), random) for _ in range(2))])


@pytest.mark.parametrize("base", ["float32", "int32", "int64"])
@pytest.mark.parametrize("power", ["float32", "int32", "int64"])
def test_power_of_another_type(base: str, power: str) -> None:
    check_import("Pow", [np.arange(1, 7).astype(base), np.arange(6).astype(power)])


def test_square_is_a_product() -> None:
    model = one_node_model("Pow", {"x": floats(2, 3)}, constants={"two": np.asarray([2.0], np.float32)})
    assert [node.op.kind for node in frontend.load(model).nodes] == ["Mul"]
    check_import("Pow", [floats(2, 3)], {"two": np.asarray([2.0], np.float32)})


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "int64"])
def test_modulo(dtype: str, fmod: int) -> None:
    a, b = np.asarray([7, 8, 9, 100]).astype(dtype), np.asarray([2, 3, 9, 7]).astype(dtype)
    check_import("Mod", [a, b], fmod=fmod)
    if not dtype.startswith("u"):
        check_import("Mod", [-a, b], fmod=fmod)
        check_import("Mod", [a, -b], fmod=fmod)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_shifts(dtype: str, direction: str) -> None:
    check_import("BitShift", [np.asarray([1, 4, 16, 255], dtype), np.asarray([1, 2, 0, 7], dtype)], direction=direction)


@pytest.mark.parametrize(
    ("source", "target"), list(product(["float32", "bool", "int8", "uint8", "int32", "int64"], repeat=2))
)
def test_casts(source: str, target: str) -> None:
    array = np.asarray([0, 1, 1.9, 100, 127]).astype(source)
    check_import("Cast", [array], to=helper.np_dtype_to_tensor_dtype(np.dtype(target)))
    check_import("CastLike", [array, np.zeros(1, target)])


@pytest.mark.parametrize("low", [None, -1.0])
@pytest.mark.parametrize("high", [None, 1.0])
@pytest.mark.parametrize("dtype", ["float32", "int8", "int64"])
def test_clip(low: float | None, high: float | None, dtype: str) -> None:
    """Bounds as attributes, as run-time inputs and as constants."""
    array = elementwise.values(dtype, (3, 4), np.random.default_rng(1))
    attributes = {name: value for name, value in (("min", low), ("max", high)) if value is not None}
    old = one_node_model("Clip", {"x": array}, opset=7, **attributes)
    same(imported(old, {"x": array})[0], Clip(low, high).numpy(array))
    bounds = [None if bound is None else np.asarray(bound, dtype) for bound in (low, high)]
    check_import("Clip", [array, *bounds])
    if low is not None and high is not None:
        check_import("Clip", [array], {"low": bounds[0], "high": bounds[1]})


def test_clip_of_uint64_is_exact() -> None:
    array = np.asarray([0, 5, 2**64 - 1], np.uint64)
    check_import("Clip", [array], {"low": np.asarray(3, np.uint64), "high": np.asarray(2**63 + 1, np.uint64)})


def test_swiglu_and_bitcast() -> None:
    check_import("SwiGLU", [floats(2, 3), floats(3, 2).reshape(2, 3)], alpha=0.5)
    check_import("BitCast", [floats(2, 3)], to=onnx.TensorProto.INT32)


def test_dropout_gives_a_mask() -> None:
    check_import("Dropout", [floats(2, 3)], results=2)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("kind", ["Gelu", "FastGelu", "BiasGelu", "QuickGelu"])
def test_contributed_gelus(kind: str) -> None:
    inputs = {"x": floats(2, 8)} | ({"bias": floats(8)} if kind in ("FastGelu", "BiasGelu") else {})
    model = one_node_model(kind, inputs, domain="com.microsoft")
    model.ir_version = 8
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    model.opset_import[0].version = 17
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    same(imported(model, inputs)[0], session.run(None, inputs)[0], 1e-4)


# ---- meaning where ONNX leaves it open ----------------------------------------------------------------------------


def quiet(op: Op, *arrays: Any) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(op.numpy(*map(np.asarray, arrays)))


def test_integer_division_never_traps() -> None:
    a, b = np.asarray([7, -7, 5, -128, 0], np.int8), np.asarray([2, 2, 0, -1, -3], np.int8)
    assert quiet(Div(), a, b).tolist() == [3, -3, 0, -128, 0]
    assert quiet(Mod(), a, b).tolist() == [1, 1, 0, 0, 0]
    assert quiet(Mod(1), a, b).tolist() == [1, -1, 0, 0, 0]


def test_integer_powers() -> None:
    a, b = np.asarray([2, -1, -1, 1, 0, 3], np.int8), np.asarray([-1, -3, -2, -9, -1, 5], np.int64)
    assert quiet(Pow(), a, b).tolist() == [0, -1, 1, 1, 0, -13]


def test_floats_saturate_as_integers() -> None:
    edges = np.asarray([np.nan, np.inf, -np.inf, 1e30, -1e30, 127.9, -128.9, -0.9], np.float32)
    assert quiet(Cast("int8"), edges).tolist() == [0, 127, -128, 127, -128, 127, -128, 0]
    assert quiet(Cast("uint64"), edges).tolist() == [0, 2**64 - 1, 0, 2**64 - 1, 0, 127, 0, 0]
    assert quiet(Cast("int64"), edges[:5]).tolist() == [0, 2**63 - 1, -(2**63), 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("op", [Max(), Min()])
def test_not_a_number_spreads(op: Op) -> None:
    nan, one = np.float32("nan"), np.float32(1)
    for found in (quiet(op, nan, one), quiet(op, one, nan), quiet(Relu(), nan), quiet(Clip(-1, 1), nan)):
        assert np.isnan(found)


def test_large_arguments() -> None:
    large = np.asarray([-1e4, -100, 100, 1e4], np.float32)
    np.testing.assert_allclose(quiet(Sigmoid(), large), [0, 0, 1, 1], atol=1e-30)
    np.testing.assert_allclose(quiet(Softplus(), large), [0, 0, 100, 1e4], atol=1e-30)


def test_halves_round_to_even() -> None:
    assert quiet(Round(), np.asarray([0.5, 1.5, 2.5, -0.5], np.float32)).tolist() == [0, 2, 2, 0]


# ---- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes", "text"),
    [
        ("Add", [floats(2, 3), floats(2)], {}, "shapes 2x3 and 2 do not broadcast together"),
        ("Add", [floats(2), np.zeros(2, np.int8)], {}, "operands have different element types: float32, int8"),
        ("Exp", [np.zeros(2, np.int32)], {}, "X is int32; supported: float32"),
        ("Elu", [floats(2)], {"alpha": "much"}, "attribute 'alpha' is 'much', but float is expected"),
        ("Elu", [floats(2)], {"beta": 1.0}, "attribute beta is not supported"),
        ("Gelu", [floats(2)], {"approximate": "cubic"}, "approximate='cubic' is unknown"),
        ("BitShift", [np.zeros(2, np.uint8)] * 2, {}, "direction '' is unknown"),
        ("Cast", [floats(2)], {"to": 17}, "cast to float8e4m3fn"),
        ("Clip", [floats(2)], {"min": float("nan")}, "min is nan"),
        ("Clip", [floats(2), floats(3)], {}, "has 3 elements, one expected"),
        ("Mean", [np.zeros(2, np.int8)] * 2, {}, "the mean of int8 tensors"),
        ("PRelu", [floats(2, 3, 4), floats(3)], {}, "do not broadcast together"),
        ("PRelu", [floats(1, 3), floats(2, 1)], {}, "slope of shape (2, 1) does not broadcast to (1, 3)"),
        ("Dropout", [floats(2), np.float32(0.5), np.asarray(True)], {}, "training_mode"),
        ("SwiGLU", [floats(2), floats(3)], {}, "gate of shape (2,), value of shape (3,)"),
        ("Sum", [], {}, "input 0 is missing"),
        ("Where", [floats(2), floats(2), floats(2)], {}, "the condition is float32"),
    ],
)
def test_refusals(kind: str, inputs: list[Array], attributes: dict[str, Any], text: str) -> None:
    named = {f"x{at}": np.asarray(array) for at, array in enumerate(inputs)}
    with pytest.raises(CompileError, match=re.escape(text)):
        frontend.load(one_node_model(kind, named, **attributes))

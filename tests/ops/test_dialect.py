"""Operators of the integer dialect: their meaning against a plain transcription, import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.support import dialect
from tests.support.checks import one_node_model
from tests.support.examples import examples
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, limits
from tilewright.ops._dialect import INTEGERS, divide, root
from tilewright.ops.dequant import Dequant
from tilewright.ops.igelu import iGELU
from tilewright.ops.ihardswish import iHardswish
from tilewright.ops.ilayernorm import iLayerNorm
from tilewright.ops.inonorm import iNoNorm
from tilewright.ops.integerdiv import IntegerDiv
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.quant import Quant
from tilewright.ops.requantshift import RequantShift, channel_axis
from tilewright.ops.trueintegerdiv import TrueIntegerDiv

pytestmark = pytest.mark.fast

EIGHT_BITS = st.sampled_from(["int8", "uint8"])
SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)
SEEDS = st.integers(0, 2**31)


def values(seed: int, dtype: str, shape: Sequence[int], bits: int = 32) -> Array:
    low, high = limits(dtype)
    low, high = max(low, -(2 ** (bits - 1))), min(high, 2 ** (bits - 1) - 1 if low else 2**bits - 1)
    return np.random.default_rng(seed).integers(low, high, shape, np.int64, endpoint=True).astype(dtype)


def equal(found: Array, wanted: Array) -> None:
    np.testing.assert_array_equal(found.astype(np.int64), wanted)


# ---- meaning ------------------------------------------------------------------------------------------------------


@given(SEEDS, EIGHT_BITS, SHAPES, st.integers(2, 300), st.integers(3, 200), st.integers(0, 200), st.integers(1, 20000))
@examples(40)
def test_softmax(seed: int, dtype: str, shape: tuple[int, ...], levels: int, log2: int, b: int, c: int) -> None:
    x = values(seed, dtype, shape)
    op = iSoftmax(levels, log2, 2, b, c)
    equal(op.numpy(x), dialect.softmax(x, log2, 2, b, c, levels))


@given(SEEDS, EIGHT_BITS, SHAPES, st.integers(4, 256), st.integers(1, 7))
@examples(40)
def test_softmax_to_the_base_of_two(seed: int, dtype: str, shape: tuple[int, ...], levels: int, width: int) -> None:
    x = values(seed, dtype, shape)
    equal(ITAMax(levels).numpy(x), dialect.ita_max(x, levels))
    equal(ITAPartialMax(levels, width).numpy(x), dialect.ita_partial_max(x, levels, width))


@given(SEEDS, st.sampled_from(["int8", "uint8", "int16"]), SHAPES, st.integers(0, 20))
@examples(40)
def test_norms(seed: int, dtype: str, shape: tuple[int, ...], shift: int) -> None:
    x, w, b = (
        values(seed, dtype, shape),
        values(seed, "int32", shape[-1:], 16),
        values(seed + 1, "int32", shape[-1:], 20),
    )
    equal(iLayerNorm(shift).numpy(x, w, b), dialect.layer_norm(x, w, b, shift))
    equal(iRMSNorm(shift).numpy(x, w), dialect.rms_norm(x, w, shift))
    small = values(seed, "int8", shape)
    equal(iNoNorm(425, shift).numpy(x, small, b >> 9), dialect.no_norm(x, small, b >> 9, 425, shift))


@given(SEEDS, st.sampled_from(["int8", "uint8"]), SHAPES)
@examples(25)
def test_activations_and_divisions(seed: int, dtype: str, shape: tuple[int, ...]) -> None:
    x, y = values(seed, dtype, shape), values(seed + 1, "uint8", shape[-1:])
    equal(iGELU(-40, 1743).numpy(x), dialect.gelu(x, -40, 1743))
    equal(iHardswish(765, 1530, 33).numpy(x), dialect.hardswish(x, 765, 1530, 33))
    equal(IntegerDiv(100, 70, 3).numpy(x, y), dialect.integer_div(x, y, 100, 70, 3))
    equal(TrueIntegerDiv(16384, 200000, 1, 2).numpy(x), dialect.integer_div(x, np.array(2), 16384, 200000, 1))


@given(SEEDS, st.sampled_from(sorted(INTEGERS)), st.integers(0, 31), st.booleans())
@examples(40)
def test_requantisation(seed: int, dtype: str, shift: int, signed: bool) -> None:
    x, mul, add = values(seed, dtype, (3, 4, 5)), values(seed, "int32", (4,)), values(seed + 1, "int32", (4,))
    op = RequantShift(full_range(shift, "int8" if signed else "uint8"), 1)
    equal(op.numpy(x, mul, add), dialect.requant(x, mul[:, None].astype(np.int64), add[:, None], shift, 256, signed))


def test_rounding_and_scales_of_floats() -> None:
    x = np.array([0.5, 1.5, -0.5, -1.5, 0.49999997, 1e9, -1e9, np.nan], np.float32)
    assert Quant(1.0).numpy(x).tolist() == [1, 2, -1, -2, 0, 127, -128, -128]
    assert Quant(0.5, 10, 0, 15).numpy(x).tolist() == [11, 13, 9, 7, 11, 15, 0, 0]
    assert Dequant(0.5, 3).numpy(np.array([1, 5], np.uint8)).tolist() == [-1.0, 1.0]


def test_integer_arithmetic_at_the_limits() -> None:
    assert divide(np.array([7, -7, 7, -7, 5]), np.array([2, 2, -2, -2, 0])).tolist() == [3, -3, -3, 3, 0]
    squares = np.array([0, 1, 3, 4, 2**31, 2**52 - 1, (2**31) ** 2 - 1, (2**31 - 1) ** 2], np.uint64)
    assert root(squares).tolist() == [0, 1, 1, 2, 46340, 67108863, 2**31 - 1, 2**31 - 1]


# ---- import -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_shape", "shape", "axis"),
    [
        ((16, 1, 1), (1, 16, 8, 8), 1), ((1, 16, 1, 1), (2, 16, 8, 8), 1), ((16,), (1, 16, 8, 16), 1),
        ((16, 1, 1), (1, 16, 32), 1), ((16, 1, 1), (16, 16, 32), 1), ((16, 1, 1), (16, 3, 32), 0),
        ((32, 1), (32, 4), 0), ((32, 1), (32, 32), 0), ((10,), (20, 10), 1), ((10,), (10, 10), 1),
        ((1, 10), (20, 10), 1), ((64,), (1, 7, 64), 2), ((7,), (1, 7, 64), 1), ((1, 2, 1, 1), (1, 2, 32, 64), 1),
        ((5,), (5,), 0), ((7,), (1, 7, 7), 2), ((7,), (1, 7, 7, 7), 1),
    ],
)  # fmt: skip
def test_channel_axis(given_shape: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    assert channel_axis(given_shape, shape) == axis


def imported(kind: str, x: Array, constants: Sequence[Array] = (), domain: str = "PACTOps", **attributes: Any) -> Array:
    """What a model of one node gives, integers stored as floats."""
    named = {f"c{i}": values.astype(np.float32) for i, values in enumerate(constants)}
    model = one_node_model(kind, {"x": x.astype(np.float32)}, opset=13, domain=domain, constants=named, **attributes)
    graph = pipeline.import_model(model, example_inputs={"x": x})
    return evaluate(graph, {"x": x.astype(graph.types["x"].dtype)})[graph.outputs[0]]


@pytest.mark.parametrize("form", [dialect.one_element, float, int])
@pytest.mark.parametrize("levels", ["n_levels", "n_levels_out"])
@pytest.mark.parametrize("domain", ["", "PACTOps", "ai.onnx.contrib"])
def test_attributes_come_in_several_forms(form: Any, levels: str, domain: str) -> None:
    x = values(1, "int8", (2, 3))
    attributes = {"div": form(2**8), levels: form(16), "signed": form(0)}
    found = imported("RequantShift", x, [np.array(99), np.array([[7]])], domain, **attributes)
    assert found.dtype == np.int8  # 0 to 15
    equal(found, dialect.requant(x, np.array(99), np.array(7), 8, 16, False))


def test_a_shift_says_what_a_power_of_two_says() -> None:
    x, constants = values(1, "int8", (2, 3)), [np.array(99), np.array([[7]])]
    for said in ({"shift": 8}, {"shift": 8, "div": 256}):
        found = imported("RequantShift", x, constants, n_levels=256, signed=1, **said)
        equal(found, dialect.requant(x, np.array(99), np.array(7), 8, 256, True))
    with pytest.raises(CompileError, match="'div' and 'shift' contradict each other: 128 and 8"):
        imported("RequantShift", x, constants, n_levels=256, signed=1, div=128, shift=8)


@pytest.mark.parametrize(
    ("levels", "signed", "dtype"),
    [
        (256, 1, "int8"),
        (256, 0, "uint8"),
        (255, 1, "int8"),
        (2**16, 1, "int16"),
        (2**16, 0, "uint16"),
        (2**20, 0, "int32"),
    ],
)
def test_the_clamp_gives_the_type(levels: int, signed: int, dtype: str) -> None:
    found = imported(
        "RequantShift", values(1, "int8", (4,)), [np.array(3), np.array(0)], div=1, n_levels=levels, signed=signed
    )
    assert found.dtype == dtype


REQUANT = {"div": 2**10, "n_levels": 256, "signed": 1}


def test_requantised_products() -> None:
    x, mul, add = values(3, "int8", (1, 4, 5, 5)), np.array([3, 5]).reshape(2, 1, 1), np.array([1, 2]).reshape(2, 1, 1)
    weight, bias = values(4, "int8", (2, 4, 3, 3), 4), np.array([100, -200])
    total = dialect.convolution(x.astype(np.int64), weight, 1, 1, 1)
    wanted = dialect.requant(total, mul, add, 10, 256, True)
    equal(imported("RequantizedConv", x, [weight, mul, add], pads=[1] * 4, **REQUANT), wanted)
    wanted = dialect.requant(total + bias.reshape(2, 1, 1), mul, add, 10, 256, True)
    equal(imported("RequantizedConv", x, [weight, bias, mul, add], pads=[1] * 4, **REQUANT), wanted)


def test_requantised_matrix_products() -> None:
    x, weight, bias = values(3, "int8", (6, 4)), values(4, "int8", (4, 3)), np.array([100, -200, 300])
    mul, add = np.array([[3], [5], [7], [1], [2], [4]]), np.array(9)
    total = x.astype(np.int64) @ weight
    equal(imported("RQMatMul", x, [weight, mul, add], **REQUANT), dialect.requant(total, mul, add, 10, 256, True))
    found = imported("RequantizedGemm", x, [weight.T, bias, mul, add], transB=1, **REQUANT)
    equal(found, dialect.requant(total + bias, mul, add, 10, 256, True))


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 3.0), (2.0, 1.0), (-2.0, 5.0)])
def test_whole_factors_of_a_requantised_matrix_product(alpha: float, beta: float) -> None:
    x, weight, bias = values(3, "int8", (6, 4)), values(4, "int8", (4, 3)), np.array([100, -200, 300])
    total = x.astype(np.int64) @ weight
    one = np.array(1)
    found = imported("RequantizedGemm", x, [weight, bias, one, one], alpha=alpha, beta=beta, **REQUANT)
    equal(found, dialect.requant(int(alpha) * total + int(beta) * bias, one, one, 10, 256, True))
    found = imported("RequantizedGemm", x, [weight, one, one], alpha=alpha, beta=beta, **REQUANT)
    equal(found, dialect.requant(int(alpha) * total, one, one, 10, 256, True))


def test_fractions_of_an_integer_matrix_product_are_refused() -> None:
    x, weight, one = values(3, "int8", (6, 4)), values(4, "int8", (4, 3)), np.array(1)
    with pytest.raises(CompileError, match=r"alpha 0\.5 and beta 1\.0 on integers"):
        imported("RequantizedGemm", x, [weight, one, one], alpha=0.5, **REQUANT)
    with pytest.raises(CompileError, match=r"a factor of 1e\+20 on int32"):
        imported("RequantizedGemm", x, [weight, one, one], alpha=1e20, **REQUANT)


def test_requantised_activation_and_sum() -> None:
    x = values(3, "int8", (6, 4))
    found = imported("RequantizediGELU", x, [np.array(3), np.array(5)], b=-40, one=1743, **REQUANT)
    equal(found, dialect.requant(dialect.gelu(x, -40, 1743), np.array(3), np.array(5), 10, 256, True))
    sets = {f"{name}_{key}": value for name in ("rqs1", "rqs2", "rqsOut") for key, value in REQUANT.items()}
    factors = {"rqs1_mul": 600, "rqs1_add": 3, "rqs2_mul": 700, "rqs2_add": 0, "rqsOut_mul": 900, "rqsOut_add": 1}
    y = values(4, "int8", (4,))
    parts = [dialect.requant(a, np.array(m), np.array(s), 10, 256, True) for a, m, s in ((x, 600, 3), (y, 700, 0))]
    wanted = dialect.requant(parts[0] + parts[1], np.array(900), np.array(1), 10, 256, True)
    equal(imported("RequantizedAdd", x, [y], **sets, **factors), wanted)


@pytest.mark.parametrize(("axes", "keepdims"), [([1], 0), ([1], 1), ([2], 0), ([-1], 1)])
def test_means(axes: list[int], keepdims: int) -> None:
    x = values(5, "int8", (3, 8, 5))
    equal(imported("IntegerMean", x, axes=axes, keepdims=keepdims), dialect.mean(x, axes[0], bool(keepdims)))


def test_floats_in_and_out() -> None:
    x = helper.make_tensor_value_info("x", 1, (5,))
    nodes = [
        helper.make_node("Quant", ["x"], ["q"], scale=0.5, zero_point=3.0, bit_width=dialect.one_element(4), signed=0),
        helper.make_node("Dequant", ["q"], ["y"], scale=0.5, zero_point=3.0, bit_width=4, signed=0),
    ]
    model = helper.make_model(helper.make_graph(nodes, "quant", [x], [helper.make_tensor_value_info("y", 1, (5,))]))
    graph = pipeline.import_model(model)
    found = evaluate(graph, {"x": np.array([0.3, -0.25, 100, -100, 1], np.float32)})[graph.outputs[0]]
    assert found.tolist() == [0.5, -0.5, 6.0, -1.5, 1.0]


@pytest.mark.parametrize(
    ("constants", "attributes", "words"),
    [
        ((1, 0), REQUANT | {"div": 1000}, "power of two"),
        ((1, 0), REQUANT | {"div": 0.5}, "whole number"),
        ((1, 0), REQUANT | {"signed": [1, 0]}, "one number"),
        ((1, 0), REQUANT | {"n_levels": 1}, "n_levels"),
        ((1, 0), REQUANT | {"n_levels": 2**32, "signed": 0}, "int32"),
        ((1, 0), {"div": 2, "n_levels": 256}, "'signed' is missing"),
        ((0.5, 0), REQUANT, "works on integers"),
        ((2**40, 0), REQUANT, "32 bits"),
        (([1, 2, 3], 0), REQUANT, "does not fit"),
        (([[1, 2], [3, 4]], 0), REQUANT, "several axes"),
        (([1, 2], [1, 2, 3, 4]), REQUANT, "mul has 2 values and add has 4"),
    ],
)
def test_refusals(constants: Sequence[Any], attributes: dict[str, Any], words: str) -> None:
    with pytest.raises(CompileError, match=words):
        imported("RequantShift", values(1, "int8", (2, 4)), [np.array(c) for c in constants], **attributes)


def test_wide_declared_integers_are_cut_to_32_bits() -> None:
    x = np.array([[1000, -1000]], np.int64)
    constants = {"mul": np.array(3, np.int64), "add": np.array(1, np.int32)}
    model = one_node_model("RequantShift", {"x": x}, opset=13, constants=constants, **REQUANT)
    graph = pipeline.import_model(model)
    assert evaluate(graph, {"x": x})[graph.outputs[0]].tolist() == [[3, -3]]


# ---- networks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [dialect.cnn, dialect.transformer])
@pytest.mark.parametrize("seed", range(4))
def test_networks(build: Any, seed: int) -> None:
    model, outputs = build(seed)
    graph = pipeline.import_model(model.proto(*outputs), example_inputs=model.inputs)
    assert "float32" not in {kind.dtype for kind in graph.types.values()}
    found = evaluate(graph, {name: array.astype(graph.types[name].dtype) for name, array in model.inputs.items()})
    for tensor, name in zip(graph.outputs, outputs, strict=True):
        assert np.ptp(model.values[name]) > 20, "the network says nothing"
        equal(found[tensor], model.values[name])


def test_without_samples_inputs_are_int8() -> None:
    model, outputs = dialect.transformer()
    graph = pipeline.import_model(model.proto(*outputs))
    assert {graph.types[name].dtype for name in graph.inputs} == {"int8"}
    assert any("declared FLOAT" in note for note in graph.notes)
    given_type = pipeline.import_model(model.proto(*outputs), dtypes={"cache": "int16"})
    assert given_type.types["cache"].dtype == "int16"


def between_requantisations(
    kind: str, extra: Sequence[Array], opset: int = 13, **attributes: Any
) -> tuple[Array, Array]:
    """What a standard operator makes of integers from a RequantShift: found in the dialect, and in 64-bit integers."""
    x = values(1, "int8", (1, 4, 6, 6))
    model = dialect.Model(1, {"x": x})
    inside = model.requant("x", scale=1.0)
    names = [model.constant(array) for array in extra]
    for name, array in zip(names, extra, strict=True):
        model.constants[name] = array
    reference = helper.make_node(kind, ["a", *names], ["y"], **attributes)
    feeds = {"a": model.values[inside].astype(np.float64)}
    feeds |= {n: a if a.dtype == np.int64 else a.astype(np.float64) for n, a in zip(names, extra, strict=True)}
    wanted = ReferenceEvaluator(reference, opsets={"": opset}).run(None, feeds)[0]
    y = model.node(kind, [inside, *names], wanted, **attributes)
    graph = pipeline.import_model(model.proto(model.node("Add", [y, y], 2 * wanted)))
    return evaluate(graph, {"x": x.astype("int8")})[graph.outputs[0]], 2 * wanted


@pytest.mark.parametrize(
    ("kind", "extra", "attributes"),
    [
        ("Abs", [], {}), ("Neg", [], {}), ("Relu", [], {}), ("Identity", [], {}), ("Flatten", [], {}),
        ("Add", [np.float32(300)], {}), ("Sub", [np.full(6, -200, np.float32)], {}), ("Mul", [np.float32(-77)], {}),
        ("Max", [np.float32(200)], {}), ("Min", [np.full((6, 1), -300, np.float32)], {}),
        ("Sum", [np.float32(200), np.float32(-3000)], {}), ("Clip", [np.float32(-20), np.float32(200)], {}),
        ("Concat", [np.full((1, 2, 6, 6), 200, np.float32)], {"axis": 1}), ("MaxPool", [], {"kernel_shape": [2, 2]}),
        ("Pad", [np.array([0, 0, 1, 1, 0, 0, 1, 1]), np.float32(100)], {}), ("GlobalMaxPool", [], {}),
        ("Gather", [np.array([2, 0])], {"axis": 1}), ("Slice", [np.array([1]), np.array([3]), np.array([2])], {}),
        ("Transpose", [], {"perm": [0, 2, 3, 1]}), ("Reshape", [np.array([4, -1])], {}),
        ("Squeeze", [np.array([0])], {}), ("Unsqueeze", [np.array([1])], {}), ("Tile", [np.array([1, 2, 1, 1])], {}),
        ("Expand", [np.array([2, 4, 6, 6])], {}), ("DepthToSpace", [], {"blocksize": 2}),
        ("SpaceToDepth", [], {"blocksize": 2}), ("ReduceSum", [np.array([1])], {"keepdims": 0}),
        ("ReduceMax", [], {"axes": [1, 2]}), ("ReduceMin", [], {"axes": [3], "keepdims": 0}),
        ("MatMul", [np.arange(36).reshape(6, 6).astype(np.float32)], {}),
        ("Conv", [np.arange(36).reshape(1, 4, 3, 3).astype(np.float32), np.full(1, 9, np.float32)], {}),
    ],
)  # fmt: skip
def test_standard_operators_between_requantisations(
    kind: str, extra: Sequence[Any], attributes: dict[str, Any]
) -> None:
    found, wanted = between_requantisations(kind, [np.asarray(array) for array in extra], **attributes)
    assert found.dtype == np.int32
    equal(found, wanted)

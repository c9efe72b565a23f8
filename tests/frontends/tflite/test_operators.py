"""Every operator of TensorFlow Lite that is read gives what TensorFlow Lite's own runtimes give."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.support.checks import same
from tests.support.tflite_cases import FLOATS, HYBRID, QUANTISED, Case, one, random_input
from tests.support.tflite_function_cases import FUNCTIONS, LITERT_ALONE
from tests.support.tflite_models import T
from tests.support.tflite_runtimes import litert, micro
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array

SEEDS = range(4)
NOT_IN_MICRO = {"concatenation_rescaled", "space_to_batch"}
"""TensorFlow Lite itself wants one scale for int8; its kernel for the second has borders that nothing sets."""
NOT_IN_LITERT = {"concatenation_rescaled", "reshape"}
"""The second in the version that the file states."""
NOT_IN_XNNPACK = {"conv_per_tensor"}
OTHERS = {
    "reference": {"sum": 255, "connected_int16": 1, "softmax_int16": 1},
    "optimised": {
        "depthwise": 1, "mean": 1, "sum": 1, "quantize_int8": 1, "quantize_uint8": 1, "dequantize": 1e-5,
        "connected_int16": 1, "logistic_int16": 8, "tanh_int16": 16, "softmax_int16": 1,
    },
    "float": {
        "batch_matmul": 1, "mean": 1, "sum": 1, "quantize_uint8": 1, "resize_bilinear": 1, "connected_int16": 1,
        "logistic_int16": 8, "tanh_int16": 16, "softmax_int16": 1, "dequantize": 1e-5,
    },
}  # fmt: skip
"""Where values may differ from a runtime's, and by how much."""
RESOLVERS = {"reference": "BUILTIN_REF", "optimised": "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "float": "AUTO"}
ALL = QUANTISED | FUNCTIONS | LITERT_ALONE


def run(make: Case, seed: int, rounding: str = "") -> tuple[bytes, Graph, list[Array], list[Array]]:
    """A file, its graph, random inputs and what numpy makes of them."""
    draw = np.random.default_rng(seed)
    data = make(draw)
    graph = pipeline.import_model(data, tflite_rounding=rounding)
    inputs = [random_input(draw, graph.types[name].dtype, graph.types[name].shape) for name in graph.inputs]
    values = evaluate(graph, dict(zip(graph.inputs, inputs, strict=True)))
    return data, graph, inputs, [values[name] for name in graph.outputs]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("name", [name for name in QUANTISED if name not in NOT_IN_MICRO])
def test_quantised_operators_equal_tflite_micro(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(QUANTISED[name], seed)
        for ours, theirs in zip(found, micro(data, inputs, len(found)), strict=True):
            same(ours, theirs.reshape(ours.shape))


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_quantised_functions_equal_tflite_micro(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(FUNCTIONS[name], seed)
        same(found[0], micro(data, inputs, 1)[0].reshape(found[0].shape))


WITH_LITERT = [
    (name, rounding) for name in ALL for rounding in RESOLVERS
    if name not in NOT_IN_LITERT and (rounding != "float" or name not in NOT_IN_XNNPACK)
]  # fmt: skip


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("name", "rounding"), WITH_LITERT)
def test_quantised_operators_equal_litert(name: str, rounding: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(ALL[name], seed, rounding)
        for ours, theirs in zip(found, litert(data, inputs, RESOLVERS[rounding]), strict=True):
            off = np.abs(ours.astype(np.float64) - theirs.reshape(ours.shape).astype(np.float64))
            assert ours.dtype == theirs.dtype
            assert np.max(off, initial=0) <= OTHERS[rounding].get(name, 0)


@pytest.mark.parametrize("rounding", ["reference", "optimised"])
def test_logistic_of_a_byte_between_two_is_rounded_as_litert_does(rounding: str) -> None:
    """The logistic of 1/128 is 128.5 of 256 once rounded to float32, and just less by steps of float32."""
    data = one("LOGISTIC", [T("int8", (1, 3), 1 / 128)], T("int8", (1, 3), 1 / 256, -128), version=2)
    graph = pipeline.import_model(data, tflite_rounding=rounding)
    values = evaluate(graph, {graph.inputs[0]: np.array([[-1, 0, 1]], np.int8)})
    assert values[graph.outputs[0]].tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("name", FLOATS)
def test_float_operators_agree(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(FLOATS[name], seed)
        for ours, theirs in zip(found, litert(data, inputs), strict=True):
            same(ours, theirs.reshape(ours.shape), 1e-4)


@pytest.mark.parametrize("name", HYBRID)
def test_floats_with_small_weights_agree(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(HYBRID[name], seed)
        same(found[0], litert(data, inputs)[0], 1e-4)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("name", ALL)
def test_quantised_operators_are_read(name: str) -> None:
    """Without a runtime: the types are those that the file declares, and the rounding is said."""
    _, graph, _, found = run(ALL[name], 1)
    assert all(
        array.dtype.name == graph.types[tensor].dtype for array, tensor in zip(found, graph.outputs, strict=True)
    )
    assert not graph.notes or "TensorFlow Lite Micro" in graph.notes[0]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("name", ["mean", "sum"])
def test_sums_are_the_same_in_c(name: str) -> None:
    """What is added to a sum is not rounded as that is."""
    assert tw.compile(QUANTISED[name](np.random.default_rng(200))).check().agrees


@pytest.mark.thorough
@pytest.mark.parametrize("name", ALL)
def test_operators_are_the_same_in_c(name: str) -> None:
    assert tw.compile(ALL[name](np.random.default_rng(2))).check().agrees


def test_no_transpose_remains() -> None:
    """On a cluster, whose kernels have channels last; on one core, whose kernels have them second, only
    the second is worth any."""
    for name, on_generic in (("conv", 0), ("depthwise", 2), ("average_pool", 0)):
        for target, most in (("generic", on_generic), ("siracusa", 0)):
            lowered = pipeline.stage(run(QUANTISED[name], 0)[1], target, "lowered")
            assert len([node for node in lowered.nodes if node.op.kind == "Transpose"]) == most

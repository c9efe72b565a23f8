"""Every operator of TensorFlow Lite that is read gives what TensorFlow Lite's own runtimes give."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import same
from tests.support.tflite_cases import FLOATS, HYBRID, QUANTISED, Case, random_input
from tests.support.tflite_function_cases import FUNCTIONS, LITERT_ALONE
from tests.support.tflite_runtimes import litert, micro
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array

SEEDS = range(4)
NOT_IN_MICRO = {"concatenation_rescaled"}
"""TensorFlow Lite itself wants one scale for int8."""
AS_IN_REFERENCE = ("conv", "depthwise", "connected", "add", "sub", "mul", "average_pool", "leaky_relu", "quantize_int8")
AS_IN_OPTIMISED = ("conv", "connected", "add", "sub", "mul", "average_pool", "logistic", "tanh")

RESOLVERS = {"reference": "BUILTIN_REF", "optimised": "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "float": "AUTO"}


def run(make: Case, seed: int, rounding: str = "") -> tuple[bytes, Graph, list[Array], list[Array]]:
    """A file, its graph, random inputs and what numpy makes of them."""
    draw = np.random.default_rng(seed)
    data = make(draw)
    graph = pipeline.import_model(data, tflite_rounding=rounding)
    inputs = [random_input(draw, graph.types[name].dtype, graph.types[name].shape) for name in graph.inputs]
    values = evaluate(graph, dict(zip(graph.inputs, inputs, strict=True)))
    return data, graph, inputs, [values[name] for name in graph.outputs]


@pytest.mark.parametrize("name", [name for name in QUANTISED if name not in NOT_IN_MICRO])
def test_quantised_operators_equal_tflite_micro(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(QUANTISED[name], seed)
        for ours, theirs in zip(found, micro(data, inputs, len(found)), strict=True):
            same(ours, theirs.reshape(ours.shape))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_quantised_functions_equal_tflite_micro(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(FUNCTIONS[name], seed)
        same(found[0], micro(data, inputs, 1)[0].reshape(found[0].shape))


@pytest.mark.parametrize("rounding", RESOLVERS)
@pytest.mark.parametrize("name", ["abs", "rsqrt", "prelu", "squared_difference", *LITERT_ALONE])
def test_quantised_functions_equal_litert(name: str, rounding: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run((FUNCTIONS | LITERT_ALONE)[name], seed, rounding)
        same(found[0], litert(data, inputs, RESOLVERS[rounding])[0])


@pytest.mark.parametrize("name", ["logistic_int16", "tanh_int16"])
def test_functions_of_words_equal_the_reference_kernels(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(FUNCTIONS[name], seed, "reference")
        same(found[0], litert(data, inputs)[0])


@pytest.mark.parametrize("name", AS_IN_REFERENCE)
def test_quantised_operators_equal_the_reference_kernels(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(QUANTISED[name], seed, "reference")
        same(found[0], litert(data, inputs)[0])


@pytest.mark.parametrize("name", AS_IN_OPTIMISED)
def test_quantised_operators_equal_the_optimised_kernels(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(QUANTISED[name], seed, "optimised")
        same(found[0], litert(data, inputs, "BUILTIN_WITHOUT_DEFAULT_DELEGATES")[0])


@pytest.mark.parametrize("name", ["conv", "depthwise", "connected", "add", "mul"])
def test_quantised_operators_equal_xnnpack(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(QUANTISED[name], seed, "float")
        same(found[0], litert(data, inputs, "AUTO")[0])


@pytest.mark.parametrize("name", FLOATS)
def test_float_operators_agree(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(FLOATS[name], seed)
        same(found[0], litert(data, inputs)[0].reshape(found[0].shape), 1e-4)


@pytest.mark.parametrize("name", HYBRID)
def test_floats_with_small_weights_agree(name: str) -> None:
    for seed in SEEDS:
        data, _, inputs, found = run(HYBRID[name], seed)
        same(found[0], litert(data, inputs)[0], 1e-4)


@pytest.mark.fast
@pytest.mark.parametrize("name", QUANTISED | FUNCTIONS | LITERT_ALONE)
def test_quantised_operators_are_read(name: str) -> None:
    """Without a runtime: the types are those that the file declares, and the rounding is said."""
    _, graph, _, found = run((QUANTISED | FUNCTIONS | LITERT_ALONE)[name], 1)
    assert all(
        array.dtype.name == graph.types[tensor].dtype for array, tensor in zip(found, graph.outputs, strict=True)
    )
    assert not graph.notes or "TensorFlow Lite Micro" in graph.notes[0]


@pytest.mark.fast
def test_no_transpose_remains() -> None:
    """On a cluster, whose kernels have channels last; on one core, whose kernels have them second, only
    the second is worth any."""
    for name, on_generic in (("conv", 0), ("depthwise", 2), ("average_pool", 0)):
        for target, most in (("generic", on_generic), ("siracusa", 0)):
            lowered = pipeline.stage(run(QUANTISED[name], 0)[1], target, "lowered")
            assert len([node for node in lowered.nodes if node.op.kind == "Transpose"]) == most

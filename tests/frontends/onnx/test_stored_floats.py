"""Floats of other widths: inputs, outputs and constants keep them, everything between is float32."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.checks import same
from tilewright.errors import CompileError
from tilewright.frontends.onnx import importer as frontend
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array, as_computed, element
from tilewright.program import compile_model

RANDOM = np.random.default_rng(4)
CODES = {"float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16, "float64": TensorProto.DOUBLE}


def network(dtype: str) -> tuple[onnx.ModelProto, Array, Array]:
    """relu(x @ w) of that type, with weights that are long enough to be stored short."""
    kind = element(dtype)
    w = (RANDOM.standard_normal((64, 40)) / 8).astype(kind)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Cast", ["a"], ["b"], to=CODES[dtype]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    infos = [
        helper.make_tensor_value_info(name, CODES[dtype], shape) for name, shape in (("x", (3, 64)), ("y", (3, 40)))
    ]
    graph = helper.make_graph(nodes, "stored", infos[:1], infos[1:], [numpy_helper.from_array(w, "w")])
    x = RANDOM.standard_normal((3, 64)).astype(kind)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), x, w


@pytest.mark.fast
@pytest.mark.parametrize("dtype", CODES)
def test_inputs_and_outputs_keep_their_type(dtype: str) -> None:
    model, x, w = network(dtype)
    graph = frontend.load(model)
    assert [graph.types[name].dtype for name in (*graph.inputs, *graph.outputs)] == [dtype, dtype]
    assert {graph.types[node.key].dtype for node in graph.nodes[:-1]} == {"float32"}
    wanted = np.maximum(as_computed(x) @ as_computed(w), 0).astype(element(dtype))
    same(evaluate(graph, {"x": x})[graph.outputs[0]], wanted)
    assert any(note.startswith(f"{dtype} tensors are computed as float32") for note in graph.notes)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("dtype", CODES)
def test_the_program_takes_and_gives_them(dtype: str) -> None:
    model, x, w = network(dtype)
    program = compile_model(model, target="generic")
    found = program.run({"x": x}).outputs["y"]
    assert found.dtype == element(dtype)
    same(found, np.maximum(as_computed(x) @ as_computed(w), 0).astype(element(dtype)))


def test_short_weights_take_half_the_flash() -> None:
    short, long = (
        compile_model(network(dtype)[0], target="generic").check().memory for dtype in ("float16", "float64")
    )
    assert short["constant_bytes"] < 0.55 * long["constant_bytes"]


def test_values_that_the_type_cannot_hold_are_named() -> None:
    program = compile_model(network("float16")[0], target="generic")
    with pytest.raises(CompileError, match=r"holds 100000.0, which float16 cannot hold"):
        program.run({"x": np.full((3, 64), 1e5)})


@pytest.mark.fast
def test_the_bits_of_a_float_that_is_computed_in_another_width_are_refused() -> None:
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("BitCast", ["x"], ["y"], to=TensorProto.INT16)]
    graph = helper.make_graph(
        nodes, "bits", [info("x", TensorProto.FLOAT16, (3,))], [info("y", TensorProto.INT16, (3,))]
    )
    with pytest.raises(CompileError, match="the bytes of float32 cannot be taken as int16"):
        frontend.load(helper.make_model(graph))

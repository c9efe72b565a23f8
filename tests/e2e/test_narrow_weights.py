"""Networks with weights of 2 and 4 bits, from the file to C on every engine: the same bits, fewer bytes, less time."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from benchmarks.weight_bits import Network, chain, coarse, measure, weight_bytes
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
from tests.support.quantiser import run_onnxruntime
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.program import Program
from tilewright.target.settings import Settings

ENDS = {
    TensorProto.INT4: (-8, 7, 0), TensorProto.UINT4: (0, 15, 8), TensorProto.INT2: (-2, 1, 0),
    TensorProto.UINT2: (0, 3, 2), TensorProto.INT8: (-8, 7, 0),
}  # fmt: skip
"""The range of each type's weights, and a zero point."""
INNER, COLUMNS = 96, 40
PACKED = Settings(packed_weights=True)


def quantised(dtype: int, per_channel: bool) -> onnx.ModelProto:
    """One linear layer in QDQ form."""
    random = np.random.default_rng(0)
    low, high, zero = ENDS[dtype]
    element = helper.tensor_dtype_to_np_dtype(dtype)
    scales = (random.random(COLUMNS if per_channel else ()) * 0.02 + 0.01).astype(np.float32)
    arrays = {
        "w": random.integers(low, high, (INNER, COLUMNS), endpoint=True).astype(element), "w_scale": scales,
        "w_zero": np.full(scales.shape, zero).astype(element), "x_scale": np.float32(0.05), "x_zero": np.int8(3),
        "y_scale": np.float32(0.2), "y_zero": np.int8(-5),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "x_scale", "x_zero"], ["x_q"]),
        helper.make_node("DequantizeLinear", ["x_q", "x_scale", "x_zero"], ["x_d"]),
        helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["w_d"], axis=1),
        helper.make_node("MatMul", ["x_d", "w_d"], ["m"], name="linear"),
        helper.make_node("QuantizeLinear", ["m", "y_scale", "y_zero"], ["y_q"]),
        helper.make_node("DequantizeLinear", ["y_q", "y_scale", "y_zero"], ["y"]),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "narrow", [info("x", 1, (1, INNER))], [info("y", 1, (1, COLUMNS))],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


def image() -> dict[str, Array]:
    return {"x": np.random.default_rng(1).standard_normal((1, INNER)).astype(np.float32)}


def kinds(program: Program) -> list[str]:
    return [node.op.kind for node in program.compiled.schedule.graph.nodes]


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("dtype", ENDS, ids=TensorProto.DataType.Name)
def test_a_quantised_layer_of_few_bits(dtype: int, per_channel: bool) -> None:
    program = tw.compile(quantised(dtype, per_channel), settings=PACKED, example_inputs=image())
    check = program.check(image())
    assert check.agrees, check.first_difference
    assert "PackedMatMul" in kinds(program)
    (node,) = (node for node in program.compiled.schedule.graph.nodes if node.op.kind == "PackedMatMul")
    bits = 2 if dtype in (TensorProto.INT2, TensorProto.UINT2) else 4
    assert program.compiled.schedule.graph.types[node.inputs[1]].bytes == INNER * COLUMNS * bits // 8


@pytest.mark.parametrize("dtype", [TensorProto.INT4, TensorProto.UINT4], ids=TensorProto.DataType.Name)
def test_onnxruntime_agrees(dtype: int) -> None:
    model = quantised(dtype, per_channel=True)
    model.opset_import[0].version, model.ir_version = 21, 10
    (found,) = tw.compile(model, settings=PACKED, example_inputs=image()).run(image()).outputs.values()
    wanted = run_onnxruntime(model, image())["y"]
    np.testing.assert_allclose(found, wanted, atol=0.2001)
    assert np.mean(np.abs(found - wanted) < 0.01) >= 0.99


PLACES = {
    "weight memory": Settings(placed=(("linear", "neureka"),)),
    "npu, l2": Settings(placed=(("linear", "neureka"),), weight_memory=False),
    "cores, l3": Settings(engines=("cluster",), home="L3", weight_memory=False),
}


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", [TensorProto.INT4, TensorProto.UINT2], ids=TensorProto.DataType.Name)
def test_on_the_virtual_soc(dtype: int, place: str) -> None:
    program = tw.compile(quantised(dtype, True), target="siracusa", settings=PLACES[place], example_inputs=image())
    check = program.check(image())
    assert check.agrees, check.first_difference
    if place == "cores, l3":
        assert weight_bytes(program) == INNER * COLUMNS * (4 if dtype == TensorProto.INT4 else 2) // 8


@pytest.fixture(scope="module")
def decode() -> Network:
    """One row times a large matrix, whole words of the NPU."""
    return chain(1, (1008, 256))


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("place", ["NPU, weight memory", "NPU and cores, L2", "NPU and cores, L3", "cores, L3"])
def test_4_bits_are_faster_than_8_where_weights_bound_the_time(decode: Network, place: str) -> None:
    narrow, whole = (measure("decode", decode, place, bits) for bits in (4, 8))
    assert whole.cycles >= 1.5 * narrow.cycles
    assert narrow.weight_bytes <= 0.51 * whole.weight_bytes
    assert narrow.microjoules < whole.microjoules


@pytest.mark.parametrize("settings", [Settings(), PACKED])
def test_weights_of_8_bits_are_not_packed(decode: Network, settings: Settings) -> None:
    proto, inputs = coarse(decode.proto, 8), dict(decode.inputs)
    made = [tw.compile(proto, settings=settings, example_inputs=inputs)]
    made += [] if settings.packed_weights else [tw.compile(proto, target="siracusa", example_inputs=inputs)]
    assert not {kind for one in made for kind in kinds(one) if kind.startswith("Packed")}


def test_without_a_planner_packing_is_asked_for(decode: Network) -> None:
    proto, inputs = coarse(decode.proto, 4), dict(decode.inputs)
    assert kinds(tw.compile(proto, example_inputs=inputs)) == ["MatMul"]
    assert kinds(tw.compile(proto, settings=PACKED, example_inputs=inputs)) == ["PackedMatMul"]
    with pytest.raises(CompileError, match="packs weights by itself where that saves cycles"):
        tw.compile(proto, target="siracusa", settings=PACKED, example_inputs=inputs)

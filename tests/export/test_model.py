"""Names, opsets, states, weights of 4 bits, and the file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.export.round_trip import check_round_trip, random_feeds, run
from tests.support.checks import same
from tests.support.models import model, node, small
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.export import model_of, save
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.ops.swish import Swish

fast = pytest.mark.fast


@fast
def test_names_are_kept() -> None:
    made = model_of(pipeline.import_model(small()))
    assert [each.name for each in made.graph.node] == ["a", "b", "y"]
    assert [value.name for value in made.graph.input] == ["x"]
    assert [value.name for value in made.graph.output] == ["y"]
    assert [tensor.name for tensor in made.graph.initializer] == ["w"]
    assert {value.name for value in made.graph.value_info} == {"a", "b"}


@fast
def test_nodes_of_one_name_are_told_apart() -> None:
    builder = Builder("twice")
    x = builder.input("x", TensorType("float32", (3,)))
    (a,) = builder.add(Relu(), [x], ["a"], name="same")
    builder.output(builder.add(Relu(), [a], ["b"], name="same")[0])
    assert [each.name for each in model_of(builder.build()).graph.node] == ["same", "same_2"]


def test_outputs_have_the_names_that_the_user_gave_them() -> None:
    """One tensor under two names, an input, a constant, and a name that another tensor has inside."""
    builder = Builder("outputs")
    x = builder.input("x", TensorType("float32", (3,)))
    (a,) = builder.add(Relu(), [x], ["a"])
    (b,) = builder.add(Add(), [a, x], ["b"])
    for tensor, name in ((b, "a"), (b, "twice"), (x, "given"), (builder.constant(np.ones(2, np.float32), "c"), "one")):
        builder.output(tensor, name)
    graph = builder.build()
    made = check_round_trip(graph, random_feeds(graph))
    assert [value.name for value in made.graph.output] == ["a", "twice", "given", "one"]


@fast
def test_names_that_cannot_be_kept_are_refused() -> None:
    builder = Builder("clash")
    x = builder.input("x", TensorType("float32", (3,)))
    (a,) = builder.add(Relu(), [x], ["a"])
    builder.output(a, "x")
    with pytest.raises(CompileError, match="is the name of an input and of an output"):
        model_of(builder.build())
    builder.outputs, builder.output_names = [a, a], ["y", "y"]
    with pytest.raises(CompileError, match="is the name of two outputs"):
        model_of(builder.build())


def test_the_opset_is_as_old_as_can_be() -> None:
    plain = model_of(pipeline.import_model(small()))
    assert (plain.opset_import[0].version, plain.ir_version) == (21, 10)
    builder = Builder("new")
    builder.output(builder.add(Swish(0.5), [builder.input("x", TensorType("float32", (3,)))])[0])
    graph = builder.build()
    assert check_round_trip(graph, random_feeds(graph)).opset_import[0].version == 24


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_floats_of_other_widths(dtype: str) -> None:
    kind = onnx.TensorProto.DataType.Value({"float64": "DOUBLE"}.get(dtype, dtype.upper()))
    relu = model([node("Relu", "x", "y")], {"x": (4,)}, ["y"], dtype=kind)
    relu.graph.output[0].type.tensor_type.elem_type = kind
    graph = pipeline.import_model(relu)
    made = model_of(graph)
    assert [made.graph.input[0].type.tensor_type.elem_type, made.graph.output[0].type.tensor_type.elem_type] == [
        kind
    ] * 2
    feeds = random_feeds(graph)
    again = pipeline.import_model(made)
    same(evaluate(again, feeds)[again.outputs[0]], evaluate(graph, feeds)[graph.outputs[0]], 0.0)


def test_constants_that_are_only_stored_short() -> None:
    builder = Builder("short")
    x = builder.input("x", TensorType("float32", (2, 3)))
    w = builder.constant(np.arange(12, dtype=np.float16).reshape(3, 4), "w")
    builder.types[w] = TensorType("float16", (3, 4))
    builder.output(builder.add(MatMul(), [x, w], ["y"])[0])
    graph = builder.build()
    check_round_trip(graph, random_feeds(graph))


def test_states_become_inputs_and_outputs() -> None:
    builder = Builder("counter")
    x = builder.input("x", TensorType("int32", (4,)))
    total = builder.state("total", np.full(4, 7, np.int32))
    (new,) = builder(Add(), [total, x])
    builder.set_next_state("total", new)
    builder.output(new, "y")
    made = model_of(builder.build())
    assert [value.name for value in made.graph.input] == ["x", "total"]
    assert made.doc_string == "state 'total': output 'total_next' is input 'total' of the next call, all 7 at first"
    found = run(made, {"x": np.ones(4, np.int32), "total": np.full(4, 7, np.int32)})
    assert found["y"].tolist() == found["total_next"].tolist() == [8] * 4


# ---- weights of 4 bits ----------------------------------------------------------------------------------------------


def dense(largest: int, dtype: str = "int8") -> Graph:
    random = np.random.default_rng(0)
    builder = Builder("dense")
    x = builder.input("x", TensorType("float32", (2, 6)))
    low = 0 if dtype == "uint8" else -largest - 1
    w = builder.constant(random.integers(low, largest + 1, (6, 4)).astype(dtype), "w")
    builder.constants[w][0, 0] = largest
    scale = builder.constant(np.full(4, 0.5, np.float32), "scale")
    zero = builder.constant(np.full(4, 3 if dtype == "uint8" else 0, dtype), "zero")
    (floats,) = builder.add(DequantizeLinear(1), [w, scale, zero], ["w_float"])
    builder.output(builder.add(MatMul(), [x, floats], ["y"])[0])
    return builder.build()


@pytest.mark.parametrize(("largest", "dtype", "stored"), [(7, "int8", "INT4"), (15, "uint8", "UINT4")])
def test_weights_of_4_bits(largest: int, dtype: str, stored: str) -> None:
    graph = dense(largest, dtype)
    made, feeds = model_of(graph, short_weights=True), random_feeds(graph)
    kinds = {tensor.name: onnx.TensorProto.DataType.Name(tensor.data_type) for tensor in made.graph.initializer}
    assert [kinds[name] for name in made.graph.node[0].input] == [stored, "FLOAT", stored]
    assert len(next(t for t in made.graph.initializer if t.name == "w").raw_data) == 12
    same(run(made, feeds, optimised=False)["y"], evaluate(graph, feeds)["y"])
    same(evaluate(pipeline.import_model(made), feeds)["y"], evaluate(graph, feeds)["y"], 0.0)


@fast
def test_larger_weights_stay_bytes() -> None:
    made = model_of(dense(8), short_weights=True)
    assert {tensor.data_type for tensor in made.graph.initializer} == {onnx.TensorProto.INT8, onnx.TensorProto.FLOAT}
    assert model_of(dense(7)) == model_of(dense(7), short_weights=False)


# ---- the file -------------------------------------------------------------------------------------------------------


def test_the_file_is_the_model(tmp_path: Path) -> None:
    graph = pipeline.import_model(small())
    save(graph, tmp_path / "small.onnx")
    assert onnx.load(tmp_path / "small.onnx") == model_of(graph)
    assert os.listdir(tmp_path) == ["small.onnx"]


@fast
def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    graph = pipeline.import_model(small())
    with pytest.raises(CompileError, match="cannot be written: No such file or directory"):
        save(graph, tmp_path / "nowhere" / "small.onnx")
    with pytest.raises(CompileError, match="cannot be written: it is a folder"):
        save(graph, tmp_path)


def test_an_old_file_stays_where_the_new_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "small.onnx"
    place.write_text("old")

    def interrupted(draft: str, target: Path) -> None:
        assert Path(draft).stat().st_size > 0
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(pipeline.import_model(small()), place)
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["small.onnx"]


@fast
def test_weights_that_no_file_holds() -> None:
    builder = Builder("large")
    x = builder.input("x", TensorType("float32", (1,)))
    huge = builder.constant(np.broadcast_to(np.float32(0), (540_000_000,)), "huge")
    builder.output(builder.add(Add(), [x, huge])[0])
    with pytest.raises(CompileError, match=r"constants of 2\.2 GB; a file of ONNX holds less than 2\.1 GB"):
        model_of(builder.build())

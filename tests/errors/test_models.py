"""Models that make no sense: each ends in one clear error that names the place, the numbers and a way out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import tilewright as tw
from tests.support.models import model, node, small

pytestmark = pytest.mark.fast


def refusal(source: object, **options: object) -> tw.CompileError:
    with pytest.raises(tw.CompileError) as caught:
        tw.compile(source, **options)
    return caught.value


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"hello, world\n", b"\x89PNG\r\n\x1a\n" + bytes(100), bytes(1000)])
def test_what_is_not_onnx(data: bytes) -> None:
    error = refusal(data)
    assert error.where == "model"
    assert "not an ONNX file" in error.what or "holds no graph" in error.what
    assert "export it again" in error.hint


@pytest.mark.parametrize("suffix", ["onnx", "tflite", "gguf", "pt", "pt2", "keras", "h5"])
def test_an_empty_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"net.{suffix}"
    path.touch()
    assert refusal(path).what == "is empty"


@pytest.mark.parametrize("suffix", ["pt2", "keras", "h5"])
def test_what_is_no_file_of_a_framework_needs_none(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"net.{suffix}"
    path.write_bytes(b"hello, world")
    assert refusal(path).what == f"is no .{suffix} file, or is damaged"


def test_every_truncation_is_refused_or_compiles() -> None:
    data = small().SerializeToString()
    for length in range(0, len(data), 7):
        with contextlib.suppress(tw.CompileError):
            tw.analyze(data[:length])


def test_a_truncated_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(small().SerializeToString()[:100])
    error = refusal(path)
    assert error.where == str(path)
    assert "is not an ONNX file, or is damaged (100 bytes)" in error.what


def test_a_language_model_is_for_another_command(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    error = refusal(path)
    assert "is a language model in GGUF" in error.what
    assert "tilewright generate" in error.hint


def test_a_missing_model(tmp_path: Path) -> None:
    error = refusal(tmp_path / "nothing.onnx")
    assert "cannot be read: No such file or directory" in error.what
    assert error.hint == "check the path"


def test_a_folder_as_model(tmp_path: Path) -> None:
    assert "is a folder, not a model" in refusal(tmp_path).what


def test_missing_external_data(tmp_path: Path) -> None:
    proto = small()
    onnx.save(proto, tmp_path / "net.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    error = refusal(tmp_path / "net.onnx")
    assert "external data cannot be read" in error.what
    assert "keep the data files beside the model" in error.hint


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd"])
def test_external_data_outside_the_models_folder(tmp_path: Path, location: str) -> None:
    (tmp_path / "secret").write_bytes(bytes(12))
    (tmp_path / "in").mkdir()
    proto = small()
    weight = proto.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=location)
    (tmp_path / "in" / "net.onnx").write_bytes(proto.SerializeToString())
    assert "external data cannot be read" in refusal(tmp_path / "in" / "net.onnx").what


def test_external_data_of_a_model_without_a_path() -> None:
    proto = small()
    proto.graph.initializer[0].data_location = TensorProto.EXTERNAL
    error = refusal(proto.SerializeToString())
    assert (error.where, error.what) == ("constant 'w'", "its data lies in another file")


# ---- graphs ----------------------------------------------------------------------------------------------------------


def cyclic() -> ModelProto:
    return model([node("Add", "x b", "a"), node("Relu", "a", "b")], {"x": (3,)}, ["b"])


def dangling() -> ModelProto:
    return model([node("Add", "x nothing", "y")], {"x": (3,)}, ["y"])


def two_producers() -> ModelProto:
    return model([node("Relu", "x", "y"), node("Abs", "x", "y")], {"x": (3,)}, ["y"])


def two_inputs() -> ModelProto:
    proto = model([node("Relu", "x", "y")], {"x": (3,)}, ["y"])
    proto.graph.input.append(proto.graph.input[0])
    return proto


def undefined_output() -> ModelProto:
    return model([node("Relu", "x", "y")], {"x": (3,)}, ["y", "z"])


def no_output() -> ModelProto:
    return model([node("Relu", "x", "y")], {"x": (3,)}, [])


def control_flow() -> ModelProto:
    branch = helper.make_graph([node("Relu", "x", "t")], "branch", [], [helper.make_tensor_value_info("t", 1, [3])])
    chosen = helper.make_node("If", ["c"], ["y"], name="if", then_branch=branch, else_branch=branch)
    return model([chosen], {"c": (1,), "x": (3,)}, ["y"])


def foreign_domain() -> ModelProto:
    return model([node("Relu", "x", "y", domain="com.example")], {"x": (3,)}, ["y"])


def unknown_attribute() -> ModelProto:
    return model([node("Relu", "x", "y", sharpness=3)], {"x": (3,)}, ["y"])


def missing_input() -> ModelProto:
    return model([node("Add", "x", "y")], {"x": (3,)}, ["y"])


def shapes_that_do_not_fit() -> ModelProto:
    return model([node("Add", "x w", "y")], {"x": (3,), "w": (4,)}, ["y"])


def different_types() -> ModelProto:
    return model([node("Add", "x w", "y")], {"x": (3,)}, ["y"], {"w": np.asarray([1, 2, 3])})


def negative_dimension() -> ModelProto:
    return model([node("Relu", "x", "y")], {"x": (-3, 2)}, ["y"])


def huge_dimension() -> ModelProto:
    return model([node("Relu", "x", "y")], {"x": (2**40,)}, ["y"])


def huge_tensor() -> ModelProto:
    return model([node("Relu", "x", "y")], {"x": (2**20, 2**20)}, ["y"])


def many_axes() -> ModelProto:
    return model([node("Relu", "x", "y")], {"x": (1,) * 40}, ["y"])


def no_shape() -> ModelProto:
    proto = model([node("Relu", "x", "y")], {"x": (3,)}, ["y"])
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    return proto


def symbolic() -> ModelProto:
    return model([node("Relu", "x", "y")], {"x": ("batch", 3)}, ["y"])


def two_symbols() -> ModelProto:
    return model([node("Relu", "x", "y")], {"x": ("N", 3, "T", "N")}, ["y"])


def nameless_axis() -> ModelProto:
    return model([node("Relu", "x", "y")], {"x": (2, None)}, ["y"])


def a_sequence() -> ModelProto:
    proto = model([node("Relu", "x", "y")], {"x": (3,)}, ["y"])
    proto.graph.input[0].type.CopyFrom(helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [3])))
    return proto


def strings() -> ModelProto:
    return model([node("Relu", "x", "y")], {"x": (3,)}, ["y"], dtype=TensorProto.STRING)


def shorter_floats() -> ModelProto:
    return model([node("Relu", "x", "y")], {"x": (3,)}, ["y"], dtype=TensorProto.FLOAT8E5M2)


def unknown_dtype() -> ModelProto:
    proto = model([node("Relu", "x", "y")], {"x": (3,)}, ["y"])
    proto.graph.input[0].type.tensor_type.elem_type = 77
    return proto


def nan_weights() -> ModelProto:
    return model([node("Add", "x w", "y")], {"x": (3,)}, ["y"], {"w": np.asarray([1, np.nan, np.nan], np.float32)})


def short_data() -> ModelProto:
    proto = small()
    proto.graph.initializer[0].raw_data = b"\0\0\0"
    return proto


def negative_weight_dimension() -> ModelProto:
    proto = small()
    proto.graph.initializer[0].dims[0] = -1
    return proto


def huge_weight_dimension() -> ModelProto:
    proto = small()
    proto.graph.initializer[0].dims[0] = 2**60
    return proto


def huge_fill() -> ModelProto:
    nodes = [node("ConstantOfShape", "s", "c"), node("Add", "x c", "y")]
    return model(nodes, {"x": (1,)}, ["y"], {"s": np.asarray([2**31, 2**31])})


def huge_range() -> ModelProto:
    nodes = [node("Range", "a b c", "r"), node("Add", "x r", "y")]
    numbers = {"a": np.asarray(0), "b": np.asarray(2**62), "c": np.asarray(1)}
    return model(nodes, {"x": (1,)}, ["y"], numbers, dtype=TensorProto.INT64)


def huge_outer_product() -> ModelProto:
    nodes = [node("Mul", "a b", "c"), node("Add", "x c", "y")]
    factors = {"a": np.ones((100_000, 1), np.float32), "b": np.ones((1, 100_000), np.float32)}
    return model(nodes, {"x": (1,)}, ["y"], factors)


def output_of_another_size() -> ModelProto:
    proto = small()
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 4)))
    return proto


def text_that_is_not_text() -> ModelProto:
    proto = ModelProto()
    proto.ParseFromString(small().SerializeToString().replace(b"Relu", b"Re\xff\xfe"))
    return proto


CASES: list[tuple[Callable[[], ModelProto], str, str, str]] = [
    (cyclic, "graph", "2 nodes depend on each other in a cycle: 'a', 'b'", "export it again"),
    (dangling, "node 'y' (Add)", "reads tensor 'nothing', which nothing defines", ""),
    (two_producers, "tensor 'y'", "is produced by two nodes", "export it again"),
    (two_inputs, "input 'x'", "tensor 'x' is defined twice", "every tensor needs one producer"),
    (undefined_output, "output 'z'", "nothing in the graph defines this tensor", "take it out of the graph's outputs"),
    (no_output, "model", "the graph has no outputs", "name at least one output"),
    (control_flow, "node 'if' (If)", "the condition 'c' is f32[1], but one bool is expected", "insert a Cast"),
    (foreign_domain, "node 'y' (Relu)", "domain 'com.example' is unknown", "known domains: PACTOps, ai.onnx"),
    (unknown_attribute, "node 'y' (Relu)", "attribute sharpness is not supported", ""),
    (missing_input, "node 'y' (Add)", "input 1 is missing", ""),
    (shapes_that_do_not_fit, "node 'y' (Add)", "shapes 3 and 4 do not broadcast together", ""),
    (different_types, "node 'y' (Add)", "operands have different element types: float32, int64", "insert a Cast"),
    (negative_dimension, "input 'x'", "axis 0 has size -3", "give its shape: --shape x=1,2"),
    (huge_dimension, "input 'x'", "axis 0 has size 1099511627776", "sizes are 0 to 2147483647"),
    (huge_tensor, "input 'x'", "has 1099511627776 elements, at most 2147483647 fit", "give inputs smaller shapes"),
    (many_axes, "input 'x'", "has 40 axes, at most 32 are supported", "reshape it to fewer"),
    (no_shape, "input 'x'", "has no shape", "give its shape, for example --shape x=1,3,224,224"),
    (symbolic, "input 'x'", "axis 0 (symbol 'batch'): no fixed size", "give sizes: --dim batch=1"),
    (two_symbols, "input 'x'", "axis 2 (symbol 'T'), axis 3 (symbol 'N'): no fixed size", "--dim N=1 --dim T=1"),
    (nameless_axis, "input 'x'", "axis 1: no fixed size", "give its shape: --shape x=2,1"),
    (a_sequence, "input 'x'", "is not a tensor (a sequence, map or optional)", "only tensors"),
    (strings, "input 'x'", "element type string is not supported", "supported: float32, int8"),
    (shorter_floats, "input 'x'", "element type float8e5m2 is not supported", "supported: float32, int8"),
    (unknown_dtype, "input 'x'", "element type number 77 is unknown", "supported: float32, int8"),
    (nan_weights, "constant 'w'", "2 of 3 values are NaN", "the file is damaged, or training diverged"),
    (short_data, "constant 'w'", "its data does not fit its shape [1, 3]", "export again"),
    (negative_weight_dimension, "constant 'w'", "has a negative dimension: [-1, 3]", "export the model again"),
    (huge_weight_dimension, "constant 'w'", "its data does not fit its shape [1152921504606846976, 3]", "export again"),
    (huge_fill, "node 'c' (ConstantOfShape)", "would have shape (2147483648, 2147483648)", "at most 67108864 elements"),
    (huge_range, "node 'r' (Range)", "would have shape (4611686018427387904,)", "at most 67108864 elements"),
    (huge_outer_product, "node 'c' (Mul)", "would have shape (100000, 100000)", "at most 67108864 elements"),
    (
        output_of_another_size,
        "output 'y'",
        "is declared with shape [2, 4], but the graph gives [2, 3]",
        "export it again",
    ),
    (text_that_is_not_text, "model", "holds names that are not text", "the file is damaged"),
]


@pytest.mark.parametrize(("make", "where", "what", "hint"), CASES, ids=[case[0].__name__ for case in CASES])
def test_a_senseless_graph(make: Callable[[], ModelProto], where: str, what: str, hint: str) -> None:
    error = refusal(make())
    assert error.where == where
    assert what in error.what
    assert (hint or "export the model again") in error.hint


@pytest.mark.parametrize("kind", ["Add", "Mul", "MatMul"])
def test_a_given_type_is_checked_against_the_constants(kind: str) -> None:
    proto = model([node(kind, "x w", "y")], {"x": (3, 3)}, ["y"], {"w": np.full((3, 3), 0.5, np.float32)})
    with pytest.raises(tw.CompileError, match="works on integers, but constant 'w' holds other values") as caught:
        tw.compile(proto, dtypes={"x": "int8"})
    assert "drop --dtype" in caught.value.hint


def test_sizes_may_be_zero() -> None:
    assert tw.compile(model([node("Relu", "x", "y")], {"x": (0, 3)}, ["y"])).graph.types["y"].shape == (0, 3)


def test_infinite_weights_are_masks() -> None:
    proto = model([node("Add", "x w", "y")], {"x": (2,)}, ["y"], {"w": np.asarray([0, -np.inf], np.float32)})
    assert "-INFINITY" in tw.compile(proto).files["network_data.c"]


def test_infinite_attributes_are_c() -> None:
    nodes = [node("LeakyRelu", "x", "a", alpha=float("inf")), node("Elu", "a", "y", alpha=float("nan"))]
    source = tw.compile(model(nodes, {"x": (2,)}, ["y"])).files["network.c"]
    assert "#include <math.h>" in source
    assert "= INFINITY" in source


def test_nan_in_weights_that_nothing_reads() -> None:
    proto = small()
    proto.graph.initializer.append(numpy_helper.from_array(np.asarray([np.nan], np.float32), "unused"))
    assert tw.compile(proto).graph.types["y"].shape == (2, 3)


def test_a_run_that_does_not_fit_this_machine() -> None:
    nodes = [node("Relu", "x", "a"), node("Abs", "a", "y")]
    program = tw.compile(model(nodes, {"x": (2**30,)}, ["y"]))
    with pytest.raises(tw.CompileError, match=r"the tensors take 12\.0 GiB, at most 2 GiB are run here"):
        program.check()


def test_a_library_that_does_not_fit_this_machine() -> None:
    nodes = [node("Softmax", "x", "a"), node("ReduceMax", "a", "y")]
    program = tw.compile(model(nodes, {"x": (2**15, 2**15)}, ["y"]), target="cpu")
    with pytest.raises(tw.CompileError, match=r"load: the arena takes [0-9.]+ GiB, at most 2 GiB are held here"):
        program.load()

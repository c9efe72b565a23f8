"""The Python API: compile, run, reference, check, save, analyze."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.support.models import model, node, quantised_input, small

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
Y = np.maximum(X + np.asarray([1, -2, 3], np.float32), 0) + X


@pytest.fixture(scope="module")
def program() -> tw.Program:
    return tw.compile(small())


@pytest.mark.parametrize("inputs", [{"x": X}, [X], (X,), {"other": X.astype(np.float64)}, [X.tolist()]])
def test_run_takes_arrays_by_name_or_in_order(program: tw.Program, inputs: object) -> None:
    np.testing.assert_array_equal(program.run(inputs).outputs["y"], Y)


def test_run_takes_a_file(program: tw.Program, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=X)
    result = program.run(tmp_path / "in.npz", repeats=3)
    np.testing.assert_array_equal(result.outputs["y"], Y)
    assert result.seconds > 0


def test_run_takes_arrays_as_arguments_and_results_are_in_order(program: tw.Program) -> None:
    result = program.run(X)
    np.testing.assert_array_equal(result[0], Y)
    np.testing.assert_array_equal(result["y"], Y)


def test_arguments_that_hold_several_arrays_are_flattened() -> None:
    add = tw.compile(
        model([node("Sub", "a b_0", "c"), node("Mul", "c b_1", "y")], dict.fromkeys(("a", "b_0", "b_1"), (3,)), ["y"])
    )
    one, two, three = (np.full(3, number, np.float32) for number in (1, 2, 3))
    for given in ((one, (two, three)), (one, {"first": two, "second": three}), ({"a": one, "b": [two, three]},)):
        np.testing.assert_array_equal(add.run(*given)[0], [-3, -3, -3])


def test_tensors_of_frameworks_leave_their_gradients(program: tw.Program) -> None:
    class Tensor:
        shape = X.shape

        def detach(self) -> Tensor:
            return self

        def cpu(self) -> object:
            return X

    np.testing.assert_array_equal(program.run(Tensor())[0], Y)


def test_run_gives_every_layer_if_asked(program: tw.Program) -> None:
    layers = program.run([X], per_layer=True).layers
    np.testing.assert_array_equal(layers["a"], X + np.asarray([1, -2, 3], np.float32))
    assert list(layers) == ["a", "b", "y"]


def test_reference_is_the_meaning_of_the_model(program: tw.Program) -> None:
    np.testing.assert_array_equal(program.reference([X])["y"], Y)


def test_check_compares_with_what_is_expected(program: tw.Program) -> None:
    assert program.check([X], [Y]).agrees
    wrong = Y.copy()
    wrong[0, 0] += 1
    check = program.check([X], {"y": wrong})
    assert not check.agrees
    assert check.outputs[0].mismatches == 1
    assert check.outputs[0].max_abs_error == 1


def test_check_without_arguments_uses_random_inputs_and_the_reference(program: tw.Program) -> None:
    check = program.check(per_layer=True)
    assert check.agrees
    assert [layer.name for layer in check.layers] == ["a", "b", "y"]


def test_random_inputs_are_the_same_every_time(program: tw.Program) -> None:
    np.testing.assert_array_equal(program.random_inputs()["x"], program.random_inputs()["x"])


def test_outputs_keep_their_names_and_order() -> None:
    nodes = [node("Relu", "x", "first"), node("Add", "x x", "second")]
    found = tw.compile(model(nodes, {"x": (3,)}, ["second", "first", "x"])).run([np.ones(3, np.float32)])
    assert list(found.outputs) == ["second", "first", "x"]


def test_save_writes_the_folder(program: tw.Program, tmp_path: Path) -> None:
    program.save(tmp_path / "out")
    assert {"network.c", "network.h", "CMakeLists.txt"} <= {path.name for path in (tmp_path / "out").iterdir()}


def test_name_is_the_prefix_of_public_symbols() -> None:
    program = tw.compile(small(), name="speech")
    assert "int speech_run(" in program.files["network.h"]
    assert program.check().agrees


def test_dims_bind_symbols() -> None:
    symbolic = model([node("Relu", "x", "y")], {"x": ("N", 3)}, ["y"])
    assert tw.compile(symbolic, dims={"N": 5}).graph.types["y"].shape == (5, 3)


def test_dtypes_make_integers_of_floats() -> None:
    program = tw.compile(model([node("Relu", "x", "y")], {"x": (3,)}, ["y"]), dtypes={"x": "int8"})
    assert program.graph.types["y"].dtype == "int8"


def test_analyze_counts_without_building() -> None:
    found = tw.analyze(small())
    assert [layer.operator for layer in found.layers] == ["Add", "Relu", "Add"]
    assert found.parameters == 3
    assert found.constant_bytes == 12
    assert found.io_bytes == 48
    assert found.arena_bytes >= found.lower_bound


def test_macs_are_products_of_the_loop_nest() -> None:
    nodes = [node("Conv", "x w", "a", group=2, pads=[1, 1, 1, 1]), node("MatMul", "a m", "y")]
    weights = {"w": np.ones((6, 2, 3, 3), np.float32), "m": np.ones((5, 7), np.float32)}
    found = tw.analyze(model(nodes, {"x": (1, 4, 8, 5)}, ["y"], weights))
    assert [layer.macs for layer in found.layers] == [6 * 8 * 5 * 2 * 9, 6 * 8 * 7 * 5]


def test_a_model_may_be_a_path_bytes_or_loaded(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(small(), path)
    sources = [path, str(path), path.read_bytes(), small()]
    assert len({tw.compile(source, name="n").files["network_data.c"].split("\n", 1)[1] for source in sources}) == 1


def test_errors_are_compile_errors() -> None:
    with pytest.raises(tw.CompileError, match="operator Nonsense is not supported"):
        tw.compile(model([node("Nonsense", "x", "y")], {"x": (3,)}, ["y"]))


def test_lists_of_operators_and_targets() -> None:
    assert "Conv" in tw.ops.names()
    assert "generic" in tw.targets.names()


def test_integers_are_converted_only_exactly() -> None:
    program = tw.compile(quantised_input())
    np.testing.assert_array_equal(program.run([np.asarray([-3.0, 0, 5, 127])]).outputs["y"], [0, 0, 5, 127])
    with pytest.raises(tw.CompileError, match=r"1 of 4 values do not fit int8 .*first 200"):
        program.run([np.asarray([0, 200, 1, 2])])

"""Arrays that do not fit the model: wrong names, shapes, types, files."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.support.command import Command
from tests.support.models import model, node, quantised_input
from tilewright.ir.arrays import convert, match, read_npz
from tilewright.ir.types import TensorType

pytestmark = pytest.mark.fast


def two_inputs(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    onnx.save(model([node("Add", "left right", "y")], {"left": (2, 3), "right": (3,)}, ["y"]), path)
    return path


@pytest.mark.parametrize(
    ("arrays", "what"),
    [
        ({"left": np.zeros((2, 3))}, "the model has 2 ('left', 'right'), but 1 ('left') given; missing: 'right'"),
        ({"left": np.zeros((2, 3)), "wrong": np.zeros(3)}, "but 2 ('left', 'wrong') given; missing: 'right'"),
        ({"a": np.zeros((2, 3))}, "but 1 ('a') given; missing: 'left', 'right'"),
        ({}, "but none given"),
    ],
)
def test_wrong_names(command: Command, tmp_path: Path, arrays: dict[str, np.ndarray], what: str) -> None:
    np.savez(tmp_path / "in.npz", **arrays)
    ran = command("run", two_inputs(tmp_path), "--inputs", tmp_path / "in.npz")
    assert ran.code == 2
    assert "✗ where inputs" in ran.err
    assert what in ran.err
    assert "name the arrays as the model does" in ran.err


def test_a_small_file_of_large_arrays(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "in.npz", left=np.zeros(2**20, np.uint8))
    monkeypatch.setattr("tilewright.ir.arrays.MAX_FILE_BYTES", 2**19)
    ran = command("run", two_inputs(tmp_path), "--inputs", tmp_path / "in.npz")
    assert ran.code == 2
    assert "holds 0.0 GiB, at most 0 GiB are read" in ran.err


def test_a_wrong_shape_names_both(command: Command, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", np.zeros((3, 2)), np.zeros(3))
    ran = command("run", two_inputs(tmp_path), "--inputs", tmp_path / "in.npz")
    assert ran.code == 2
    assert "✗ where input 'left'" in ran.err
    assert "has shape 3x2, the model needs 2x3" in ran.err


def test_a_value_out_of_range_names_the_type_that_fits(command: Command, tmp_path: Path) -> None:
    onnx.save(quantised_input(), tmp_path / "net.onnx")
    np.savez(tmp_path / "in.npz", x=np.asarray([0, 200, 255, 1]))
    ran = command("run", tmp_path / "net.onnx", "--inputs", tmp_path / "in.npz", "--json")
    assert ran.code == 2
    assert ran.json["error"] == {
        "where": "input 'x'",
        "what": "2 of 4 values do not fit int8 (whole numbers -128 to 127), first 200",
        "hint": "if that is its type: --dtype x=uint8",
    }


@pytest.mark.parametrize(
    ("array", "dtype", "what"),
    [
        (np.asarray([0.5]), "int8", "1 of 1 values do not fit int8"),
        (np.asarray([np.nan]), "int32", "1 of 1 values do not fit int32"),
        (np.asarray([np.inf]), "int64", "1 of 1 values do not fit int64"),
        (np.asarray([2.0**63]), "int64", "1 of 1 values do not fit int64"),
        (np.asarray([-1]), "uint8", "first -1"),
        (np.asarray([2]), "bool", "(whole numbers 0 to 1), first 2"),
        (np.asarray([1e300]), "float32", "holds 1e+300, which float32 cannot hold"),
    ],
)
def test_values_that_would_change(array: np.ndarray, dtype: str, what: str) -> None:
    with pytest.raises(tw.CompileError) as caught:
        convert(array, TensorType(dtype, (1,)), "input 'x'", "x")
    assert what in caught.value.what


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.asarray([-128, 127]), "int8"), (np.asarray([0.0, 255.0]), "uint8"), (np.asarray([True, False]), "int8"),
        (np.asarray([0, 1]), "bool"), (np.asarray([0.1, np.nan]), "float32"), (np.asarray([2**53, 5]), "float32"),
        (np.asarray([2**64 - 1, 0], np.uint64), "uint64"), (np.asarray([-(2**63), 0]), "int64"),
    ],
)  # fmt: skip
def test_values_that_stay_the_same(array: np.ndarray, dtype: str) -> None:
    found = convert(array, TensorType(dtype, (2,)), "input 'x'", "x")
    assert found.dtype.name == dtype
    np.testing.assert_allclose(found.astype(np.float64), array.astype(np.float64), rtol=1e-7)


def test_names_win_over_positions() -> None:
    arrays = {"b": np.asarray(1), "a": np.asarray(2)}
    assert {name: int(array) for name, array in match(["a", "b"], arrays, "inputs").items()} == {"a": 2, "b": 1}
    assert {name: int(array) for name, array in match(["x", "y"], arrays, "inputs").items()} == {"x": 1, "y": 2}


def test_weights_stored_after_the_inputs_are_passed_over() -> None:
    arrays = {"arr_0": np.asarray(1), "arr_1": np.asarray(2)}
    assert list(match(["x"], arrays, "inputs")) == ["x"]


@pytest.mark.parametrize("data", [b"", b"no zip file", b"PK\x03\x04" + bytes(40)])
def test_a_file_that_is_no_npz(command: Command, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "in.npz").write_bytes(data)
    ran = command("run", two_inputs(tmp_path), "--inputs", tmp_path / "in.npz")
    assert ran.code == 2
    assert "is not an .npz file of plain arrays" in ran.err
    assert "pickle" not in ran.err
    assert "save with numpy.savez(file, name=array)" in ran.err


def test_a_truncated_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.zeros(1000))
    data = (tmp_path / "in.npz").read_bytes()
    for length in range(1, len(data), 499):
        (tmp_path / "in.npz").write_bytes(data[:length])
        with pytest.raises(tw.CompileError):
            read_npz(tmp_path / "in.npz")


class Exploit:
    """Would create a file if it were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.path), "w")


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    np.savez(tmp_path / "in.npz", x=np.asarray([Exploit(trap)], dtype=object))
    with pytest.raises(tw.CompileError, match="plain arrays"):
        read_npz(tmp_path / "in.npz")
    (tmp_path / "raw.npz").write_bytes(pickle.dumps(Exploit(trap)))
    with pytest.raises(tw.CompileError, match="plain arrays"):
        read_npz(tmp_path / "raw.npz")
    assert not trap.exists()


def test_an_npy_is_not_an_npz(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.zeros(3))
    with pytest.raises(tw.CompileError, match=r"is a single \.npy array"):
        read_npz(tmp_path / "in.npy")


def test_texts_are_not_numbers(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.asarray(["a", "b"]))
    with pytest.raises(tw.CompileError, match="not numbers"):
        read_npz(tmp_path / "in.npz")


def test_a_missing_npz(tmp_path: Path) -> None:
    with pytest.raises(tw.CompileError, match="cannot be read: No such file"):
        read_npz(tmp_path / "nothing.npz")


def test_missing_expectations(tmp_path: Path) -> None:
    program = tw.compile(quantised_input())
    with pytest.raises(tw.CompileError) as caught:
        program.check(expected={})
    assert caught.value.where == "expected outputs"

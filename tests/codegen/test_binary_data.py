"""Constants as bytes: the same program as with constants as C, for this machine and for a cluster."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

import tilewright as tw
from tests.planner.networks import NETWORKS
from tests.support.command import Command
from tests.support.models import model, node
from tilewright.codegen import binary_data, folder
from tilewright.errors import CompileError
from tilewright.program import Program
from tilewright.toolchain.compiler import BARE, build_program, find_compiler

RNG = np.random.default_rng(5)


def every_type() -> Program:
    """Constants of several element types, one of them not finite, one a scalar."""
    constants = {
        "w": RNG.standard_normal((4, 300)).astype(np.float32), "b": np.float32([np.inf, -np.inf, 1, 2]),
        "s": np.float32(3), "i": RNG.integers(0, 4, 7), "k": np.int32([1, 2, 3, 4]),
    }  # fmt: skip
    nodes = [
        node("MatMul", "w x", "m"), node("Add", "m b", "n"), node("Mul", "n s", "o"), node("Gather", "o i", "y"),
        node("Cast", "n", "c", to=TensorProto.INT32), node("Min", "c k", "u"),
    ]  # fmt: skip
    return tw.compile(model(nodes, {"x": (300,)}, ["y", "u"], constants), name="every_type")


def test_bytes_are_the_constants() -> None:
    program = every_type()
    writer = program.build().networks[0].writer
    data = binary_data.data(writer)
    wanted = b"".join(
        np.ascontiguousarray(program.compiled.schedule.graph.constants[n]).tobytes() for n in writer.constants
    )
    assert data == wanted
    assert len(data) > 4800


@pytest.mark.fast
@pytest.mark.parametrize(("target", "line"), [("cpu", True), ("generic", False)])
def test_constants_begin_at_lines_of_caches(tmp_path: Path, target: str, line: bool) -> None:
    """Vectors of weights that lie across two lines take a quarter longer."""
    constants = {"w": RNG.standard_normal((24, 8)).astype(np.float32)}
    program = tw.compile(model([node("MatMul", "x w", "y")], {"x": (1, 24)}, ["y"], constants), target=target)
    declared = [row for row in program.files["network_data.c"].splitlines() if row.endswith("= {")]
    assert len(declared) >= 1
    assert all(("aligned(64)" in row) == line for row in declared)
    program.save(tmp_path, "binary")
    aligned = [row for row in (tmp_path / "network_data.S").read_text().splitlines() if ".balign" in row]
    assert len(aligned) == len(declared)
    assert all(row.endswith(" 64") == line for row in aligned)


def test_text_is_written_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither compiling nor running writes the constants as C."""

    def refuse(writer: object) -> str:
        raise AssertionError("constants as C")

    monkeypatch.setattr("tilewright.codegen.c_data.source", refuse)
    program = every_type()
    assert program.check().agrees
    with pytest.raises(AssertionError, match="constants as C"):
        _ = program.files["network_data.c"]


def example(program: Program, place: Path, weights: str) -> str:
    """What main.c prints, built of a folder with constants of a kind."""
    names = program.save(place, weights)
    assert ("network_data.c" in names) == (weights == "c")
    assert ("network_data.bin" in names) == (weights == "binary")
    sources = [place / name for name in names if name.endswith((".c", ".S"))]
    build_program(sources, ["-O1", "-g0", f"-I{place}"], ["m"], place / "program", find_compiler(), ["-O1", BARE])
    return subprocess.run([place / "program"], capture_output=True, text=True, check=True).stdout


@pytest.mark.in_turns(6)
def test_both_folders_are_the_same_program(tmp_path: Path) -> None:
    program = every_type()
    found = [example(program, tmp_path / weights, weights) for weights in folder.WEIGHTS]
    assert found[0] == found[1]
    assert found[0].count("\n") >= 4


@pytest.mark.in_turns(6)
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
def test_cmake_builds_bytes(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no cc")
    every_type().save(tmp_path / "c", "binary")
    commands = (["cmake", "-S", "c", "-B", "b"], ["cmake", "--build", "b"])
    for command in commands:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.in_turns(3)
def test_a_cluster_has_constants_at_the_same_addresses(tmp_path: Path) -> None:
    """Cycles do not depend on how constants are written: they lie where a compiler puts C."""
    program = tw.compile(NETWORKS["residual"](), target="siracusa")
    soc, inputs = program.build_soc(), program.random_inputs()
    found = soc.run(inputs)
    (soc.folder / binary_data.SOURCE).unlink()
    (soc.folder / "network_data.c").write_text(program.files["network_data.c"])
    as_c = soc.run(inputs)
    assert found.cycles == as_c.cycles
    assert all(np.array_equal(found.outputs[name], as_c.outputs[name]) for name in found.outputs)


def test_another_word_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CompileError, match="--weights text: is unknown"):
        every_type().save(tmp_path / "c", "text")
    assert not (tmp_path / "c").exists()
    assert Command(capsys)("compile", "--help").out.count("--weights") == 1


def test_a_folder_of_either_kind_is_replaced(tmp_path: Path) -> None:
    program = every_type()
    program.save(tmp_path / "c", "binary")
    program.save(tmp_path / "c", "c")
    assert not (tmp_path / "c" / "network_data.bin").exists()

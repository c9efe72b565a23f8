"""Networks of one firmware that would share a symbol are refused: as libraries they link, and one reads the other's."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.planner.networks import quantised_residual
from tests.support.models import model, node
from tests.support.processors import processor_of
from tilewright.codegen.cmake_symbols import symbols
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.program import Program
from tilewright.target.processors import processor_flags
from tilewright.toolchain.compiler import compile_objects, find_compiler, find_cross_compiler

TARGETS = ("generic", "cpu", "cortex-m4", "siracusa", "snitch", "quad")


def adding(constant: str, value: float = 1.0, given: str = "x", elements: int = 3) -> onnx.ModelProto:
    added = {constant: np.full(elements, value, np.float32)}
    return model([node("Add", f"{given} {constant}", "y")], {given: (elements,)}, ["y"], added)


def function(kind: str, **attributes: str) -> onnx.ModelProto:
    made = model([node(kind, "x", "y", **attributes)], {"x": (3,)}, ["y"])
    made.opset_import[0].version = 20
    return made


PAIRS = {
    "a_b_w": (("a", adding("b_w")), ("a_b", adding("w"))),
    "a_b_run": (("a", adding("b_run")), ("a_b", adding("w"))),
    "A_B_X_ELEMENTS": (("a", adding("w", given="b_x")), ("a_b", adding("c", elements=5))),
    "net_run": (("Net", adding("w")), ("net", adding("v"))),
    "net_1_run": (("net-1", adding("w")), ("net 1", adding("v"))),
}
"""What two networks have in common."""
KERNELS = (("a", function("Gelu", approximate="tanh")), ("a_gelu", function("Tanh")))


def compiled(name: str, made: onnx.ModelProto, target: str = "generic") -> Program:
    return tw.compile(made, target=target, name=name)


def listed(program: Program) -> set[str]:
    return set(symbols([Writer(program.compiled.schedule, symbol_prefix(program.name))]))


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shared", PAIRS)
def test_what_two_networks_share_is_found(target: str, shared: str) -> None:
    one, other = (listed(compiled(name, made, target)) for name, made in PAIRS[shared])
    assert shared in one & other


@pytest.mark.parametrize("target", TARGETS)
def test_a_kernel_called_like_another_networks(target: str) -> None:
    one, other = (listed(compiled(name, made, target)) for name, made in KERNELS)
    assert any(word.startswith("a_gelu_tanh") for word in one & other)


@pytest.mark.parametrize("target", TARGETS)
def test_a_constant_called_like_another_networks_kernel(target: str) -> None:
    other = listed(compiled("a_b", adding("w"), target))
    (kernel,) = (word for word in other if word.startswith("a_b_add"))
    assert kernel in listed(compiled("a", adding(kernel.removeprefix("a_")), target))


def configured(folder: Path, *programs: Program) -> str:
    """What CMake complains of when networks become parts of a project."""
    cmake = shutil.which("cmake") or shutil.which("cmake", path=str(Path(sys.executable).parent))
    if not cmake or not shutil.which("gcc"):
        pytest.skip("cmake or gcc is not installed")
    lines = ["cmake_minimum_required(VERSION 3.13)", "project(firmware C)"]
    for number, program in enumerate(programs):
        program.save(folder / str(number))
        lines.append(f"add_subdirectory(../{number} {number})")
    (folder / "project").mkdir()
    (folder / "project" / "CMakeLists.txt").write_text("\n".join(lines))
    command = [cmake, "-S", "project", "-B", "build", "-DCMAKE_C_COMPILER=gcc"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (done.returncode == 0) == ("CMake Error" not in done.stderr)
    return " ".join(done.stderr.split())


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("shared", PAIRS)
def test_cmake_refuses_them(shared: str, tmp_path: Path) -> None:
    (one, first), (other, second) = PAIRS[shared]
    said = configured(tmp_path, compiled(one, first), compiled(other, second))
    if "net" in shared:
        name = symbol_prefix(one)
        assert f"networks {name} and {name} both have {name.upper()}_NETWORK_H" in said
    else:
        assert f"networks a and a_b both have {shared}: compile one of them with another --name" in said


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("target", ["cortex-m4", "quad"])
@pytest.mark.parametrize("turned", [False, True])
def test_cmake_refuses_them_in_either_order(target: str, turned: bool, tmp_path: Path) -> None:
    programs = [compiled(name, made, target) for name, made in PAIRS["a_b_w"]]
    said = configured(tmp_path, *(reversed(programs) if turned else programs))
    assert f"networks {'a_b and a' if turned else 'a and a_b'} both have a_b_w" in said


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("target", ["generic", "quad"])
def test_names_may_begin_alike(target: str, tmp_path: Path) -> None:
    """As long as nothing is shared; also names that are false in CMake."""
    networks = {name: compiled(name, adding("w"), target) for name in ("kws", "kws_small", "no", "off")}
    assert not configured(tmp_path, *networks.values())


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("target", TARGETS)
def test_every_symbol_that_linkers_see_is_listed(target: str, tmp_path: Path) -> None:
    if not shutil.which("nm"):
        pytest.skip("nm is not installed")
    program = compiled("net", quantised_residual(), target)
    program.save(tmp_path / "c")
    paths = [path for path in (tmp_path / "c").rglob("*.c") if path.name != "main.c" and "runtime" not in path.parts]
    chosen = program.compiled.schedule.target
    own = processor_flags(processor_of(chosen), False) if processor_of(chosen) else chosen.flags
    flags = [*own, *chosen.definitions, "-DTW_CORES=4", "-I", "runtime/libc"]
    compiler = find_cross_compiler() if "-target" in flags else find_compiler()
    objects = compile_objects(dict.fromkeys(paths, flags), tmp_path / "c", compiler)
    shown = subprocess.run(["nm", "-gP", "--defined-only", *objects], capture_output=True, text=True, check=True)
    found = {words[0] for line in shown.stdout.splitlines() if len(words := line.split()) > 1}
    array = {f"tw_{memory.symbol}" for memory in chosen.memories[:1]} if chosen.links else set()
    assert found - array == {word for word in listed(program) if word.islower()}

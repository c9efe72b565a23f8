"""The output folder: strict C99 under each compiler, the same bytes every time, buildable with CMake."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.support.models import model, residual
from tilewright import pipeline
from tilewright.toolchain.compiler import BARE, STRICT, build_program, compile_objects, find_compiler

pytestmark = pytest.mark.in_turns(8)

HOSTILE = [
    'a"b',
    "new\nline",
    "../../etc/passwd",
    "*/ int evil; /*",
    "*\\ int evil;",
    "tw_add_f32",
    "small_w",
    'x; system("rm")',
    "\\",
    "??/",
    "日本",
    "",
    "int",
    "9",
]


def compiled(name: str = "") -> pipeline.Compiled:
    return pipeline.compile_graph(pipeline.import_model(residual()), "generic", name)


def test_same_model_same_bytes() -> None:
    """In another process, whose sets are in another order."""
    script = (
        "import sys; sys.path[:0] = ['.', 'src']; from tests.e2e.test_generated_c import compiled; import hashlib;"
        "print(hashlib.sha256(repr(compiled().files).encode()).hexdigest())"
    )
    root, seed = Path(__file__).parents[2], "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    elsewhere = subprocess.run(
        [sys.executable, "-c", script], cwd=root, env={"PYTHONHASHSEED": seed, "PATH": ""}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert elsewhere.stdout.strip() == hashlib.sha256(repr(compiled().files).encode()).hexdigest()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("optimise", ["-O0", "-Os", "-O3"])
@pytest.mark.parametrize("cc", [None, "gcc", "clang"])
def test_compiles_clean(cc: str | None, optimise: str, tmp_path: Path) -> None:
    if cc and not shutil.which(cc):
        pytest.skip(f"{cc} is not installed")
    pipeline.save(compiled(), tmp_path / "out")
    sources = sorted((tmp_path / "out").rglob("*.c"))
    options = {path: [*STRICT, "-Wshadow", "-Wconversion" if path.name == "main.c" else "-Wvla"] for path in sources}
    compile_objects({path: [*flags, optimise] for path, flags in options.items()}, tmp_path, find_compiler(cc))


@pytest.mark.parametrize(
    "target", ["thumb-freestanding-eabi -mcpu=cortex_m4", "riscv32-freestanding -mcpu=generic_rv32+m+c"]
)
def test_integer_networks_need_no_c_library(target: str, tmp_path: Path) -> None:
    """Not even its headers: those that every compiler has are enough."""
    values = {"w": np.ones((4, 3, 3, 3), np.int8), "s": np.float32(0.1), "z": np.int8(0)}
    nodes = [
        helper.make_node("QLinearConv", ["x", "s", "z", "w", "s", "z", "s", "z"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["a"], ["b"], kernel_shape=[2, 2]),
        helper.make_node("Concat", ["b", "b"], ["y"], axis=1),
    ]
    small = model(nodes, {"x": [1, 3, 8, 8]}, ["y"], {k: np.asarray(v) for k, v in values.items()}, TensorProto.INT8)
    made = pipeline.compile_graph(pipeline.import_model(small), "generic", "net")
    pipeline.save(made, tmp_path / "out")
    sources = [path for path in sorted((tmp_path / "out").rglob("*.c")) if path.name != "main.c"]
    flags = (*STRICT, "-target", *target.split(), "-Os")
    compile_objects(dict.fromkeys(sources, flags), tmp_path, find_compiler())


def test_needs_no_heap_and_keeps_no_state() -> None:
    for name, text in compiled().files.items():
        assert not re.search(r"\b(malloc|calloc|realloc|free|alloca)\b", text), name
        if name != "main.c":
            assert not re.search(r"^\s*static (?!const |inline )[^(]*[;=]", text, re.MULTILINE), name


def test_only_used_kernels_come_along() -> None:
    names = {Path(name).name for name in compiled().files if name.endswith(".c") and name.startswith("kernels/")}
    assert names
    assert not {name for name in names if name.startswith(("softmax", "concat", "resize"))}


def build_with_cmake(folder: Path) -> None:
    """Build folder/project in folder/b."""
    cmake = shutil.which("cmake") or shutil.which("cmake", path=str(Path(sys.executable).parent))
    if not cmake:
        pytest.skip("cmake is not installed")
    generator = ["-G", "Ninja"] if shutil.which("ninja") or (Path(sys.executable).parent / "ninja").exists() else []
    compiler = ["-DCMAKE_C_COMPILER=gcc"] if shutil.which("gcc") else []
    options = ["-DCMAKE_C_FLAGS=-Wall -Wextra -Werror -pedantic"]
    for command in ([cmake, "-S", "project", "-B", "b", *generator, *compiler, *options], [cmake, "--build", "b"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["some_net", "all", "m", "test"])
def test_builds_with_cmake_and_runs(name: str, tmp_path: Path) -> None:
    """Also under names that CMake or the linker know already."""
    pipeline.save(compiled(name), tmp_path / "project")
    build_with_cmake(tmp_path)
    done = subprocess.run([str(tmp_path / "b" / f"{name}_example")], capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == 5


FIRMWARE = """\
cmake_minimum_required(VERSION 3.13)
project(firmware C)
add_subdirectory(../one one)
add_subdirectory(../two two)
add_executable(firmware firmware.c)
target_include_directories(firmware PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/..)
target_link_libraries(firmware one_network two_network)
"""

BOTH = """\
#include "one/network.h"
#include "two/network.h"
int main(void) { return one_run == two_run; }
"""


def test_two_networks_in_one_firmware(tmp_path: Path) -> None:
    """As sub-projects, and with all files in one list: no symbol is defined twice."""
    for name in ("one", "two"):
        pipeline.save(compiled(name), tmp_path / name)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "CMakeLists.txt").write_text(FIRMWARE)
    (tmp_path / "project" / "firmware.c").write_text(BOTH)
    sources = [path for path in sorted(tmp_path.rglob("*.c")) if path.name != "main.c"]
    build_program(sources, ["-O1", "-I", str(tmp_path)], ["m"], tmp_path / "together", find_compiler(), ["-O1", BARE])
    build_with_cmake(tmp_path)
    assert not list((tmp_path / "b").rglob("*_example*"))


def test_a_constant_called_like_a_kernel(tmp_path: Path) -> None:
    add = helper.make_node("Add", ["x", "add_f32"], ["y"])
    made = model([add], {"x": [3]}, ["y"], {"add_f32": np.ones(3, np.float32)})
    pipeline.save(pipeline.compile_graph(pipeline.import_model(made), "generic", "net"), tmp_path / "out")
    sources = sorted((tmp_path / "out").rglob("*.c"))
    build_program(sources, [*STRICT, "-O1"], ["m"], tmp_path / "program", find_compiler(), ["-O1", BARE])


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_data(name: str, tmp_path: Path) -> None:
    """A hostile name of a model, node, tensor or constant changes comments at most."""
    node = helper.make_node("Add", [name or "x", f"{name}w"], [f"{name}y"], name)
    hostile = model([node], {name or "x": [2, 3]}, [f"{name}y"], {f"{name}w": np.ones(3, np.float32)})
    hostile.graph.name = name
    made = pipeline.compile_graph(pipeline.import_model(hostile), "generic", name)
    pipeline.save(made, tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    compile_objects(dict.fromkeys(sorted((tmp_path / "out").rglob("*.c")), STRICT), tmp_path, find_compiler())
    assert all(text.isascii() for text in made.files.values())

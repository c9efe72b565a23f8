"""The output folder: strict C99 under each compiler, the same bytes every time, buildable with CMake."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from tests.models import model, residual
from tilewright import pipeline
from tilewright.toolchain import STRICT, find_compiler

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
    script = (
        "import sys; sys.path[:0] = ['.', 'src']; from tests.e2e.test_generated_c import compiled; import hashlib;"
        "print(hashlib.sha256(repr(compiled().files).encode()).hexdigest())"
    )
    root = Path(__file__).parents[2]
    hashes = {
        subprocess.run(
            [sys.executable, "-c", script], cwd=root, env={"PYTHONHASHSEED": seed, "PATH": ""}, capture_output=True,
            text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(hashes) == 1


@pytest.mark.parametrize("optimise", ["-O0", "-Os", "-O3"])
@pytest.mark.parametrize("cc", [None, "gcc", "clang"])
def test_compiles_clean(cc: str | None, optimise: str, tmp_path: Path) -> None:
    if cc and not shutil.which(cc):
        pytest.skip(f"{cc} is not installed")
    pipeline.save(compiled(), tmp_path / "out")
    for source in sorted((tmp_path / "out").rglob("*.c")):
        arguments = [*STRICT, "-Wshadow", "-Wconversion" if source.name == "main.c" else "-Wvla", optimise, "-c"]
        find_compiler(cc).run([*arguments, str(source), "-o", str(tmp_path / "x.o")], tmp_path / "out")


def test_needs_no_heap_and_keeps_no_state() -> None:
    for name, text in compiled().files.items():
        assert not re.search(r"\b(malloc|calloc|realloc|free|alloca)\b", text), name
        if name != "main.c":
            assert not re.search(r"^\s*static (?!const |inline )[^(]*[;=]", text, re.MULTILINE), name


def test_only_used_kernels_come_along() -> None:
    names = {Path(name).name for name in compiled().files if name.endswith(".c") and name.startswith("kernels/")}
    assert names
    assert not {name for name in names if name.startswith(("softmax", "concat", "resize"))}


def test_builds_with_cmake_and_runs(tmp_path: Path) -> None:
    cmake = shutil.which("cmake") or shutil.which("cmake", path=str(Path(sys.executable).parent))
    if not cmake:
        pytest.skip("cmake is not installed")
    pipeline.save(compiled("Some Net"), tmp_path / "out")
    generator = ["-G", "Ninja"] if shutil.which("ninja") or (Path(sys.executable).parent / "ninja").exists() else []
    compiler = ["-DCMAKE_C_COMPILER=gcc"] if shutil.which("gcc") else []
    options = ["-DCMAKE_C_FLAGS=-Wall -Wextra -Werror -pedantic"]
    for command in ([cmake, "-S", "out", "-B", "b", *generator, *compiler, *options], [cmake, "--build", "b"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([str(tmp_path / "b" / "some_net_example")], capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == 5


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_data(name: str, tmp_path: Path) -> None:
    """A hostile name of a model, node, tensor or constant changes comments at most."""
    node = helper.make_node("Add", [name or "x", f"{name}w"], [f"{name}y"], name)
    hostile = model([node], {name or "x": [2, 3]}, [f"{name}y"], {f"{name}w": np.ones(3, np.float32)})
    hostile.graph.name = name
    made = pipeline.compile_graph(pipeline.import_model(hostile), "generic", name)
    pipeline.save(made, tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    for source in sorted((tmp_path / "out").rglob("*.c")):
        find_compiler().run([*STRICT, "-c", str(source), "-o", str(tmp_path / "x.o")], tmp_path / "out")
    assert all(text.isascii() for text in made.files.values())

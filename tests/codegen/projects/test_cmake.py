"""CMake builds programs that print the network's result: for boards with zig and with GCC, and for this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.codegen.projects.made import content, program, put
from tests.emulator.test_qemu import needs_qemu
from tilewright import targets
from tilewright.toolchain.compiler import BARE, cache_folder, find_cross_compiler

GCC = "arm-none-eabi-gcc"
ZIG = f"-DZIG={find_cross_compiler().command[0]}"


def built(place: Path, *options: str) -> Path:
    # The program needs nothing of zig's runtime library, which would take longer than all else to build.
    bare = {"CFLAGS": BARE} if ZIG in options else {}
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(cache_folder() / "zig"), **bare}
    for words in (["-S", str(place), "-B", str(place / "build"), *options], ["--build", str(place / "build")]):
        done = subprocess.run(["cmake", *words], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
    return place / "build"


def result() -> str:
    """What applications print."""
    made = program("generic")
    kind = made.graph.types["x"]
    (outputs,) = made.reference([np.zeros(kind.shape, np.int8)]).values()
    found = outputs.reshape(-1)[:10]
    assert len(set(found.tolist())) > 2
    return f"result {' '.join(map(str, found))}\nas expected\n"


def check_board(tmp_path: Path, toolchain: str, target: str) -> None:
    place = put(content("cmake", target), tmp_path)
    build = built(place, "--toolchain", f"cmake/{toolchain}.cmake", *([ZIG] if toolchain == "zig" else []))
    with targets.find(target).machine() as machine:
        machine.load(build / "tiny_app.elf")
        report = machine.run(10**8)
    assert report.exit_code == 0
    assert machine.stdout.startswith(result())


@pytest.mark.in_turns(6)
def test_a_board(tmp_path: Path) -> None:
    check_board(tmp_path, "zig", "cortex-m4")


@needs_qemu
def test_boards_with_gcc(tmp_path: Path) -> None:
    """One without vectors, one with them."""
    if not shutil.which(GCC):
        pytest.skip(f"there is no {GCC} here")
    for target in ("cortex-m4", "cortex-m55"):
        check_board(tmp_path / target, GCC, target)


@pytest.mark.in_turns(6)
def test_this_machine(tmp_path: Path) -> None:
    build = built(put(content("cmake", "generic"), tmp_path))
    ran = subprocess.run([build / "tiny_app"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(result())
    assert "microseconds" in ran.stdout


def test_memories_are_the_targets(tmp_path: Path) -> None:
    script = content("cmake")["link.ld"]
    assert isinstance(script, str)
    assert "INCLUDE" not in script
    assert "flash (rwx) : ORIGIN = 0x8000000, LENGTH = 0x200000" in script


def test_zig_and_its_arguments_are_a_list_of_two() -> None:
    """CMake 3.18 and older take no other; projects ask for 3.13."""
    text = content("cmake")["cmake/zig.cmake"]
    assert isinstance(text, str)
    lists = re.findall(
        r'^set\(CMAKE_(C|ASM)_COMPILER \$\{ZIG\} "cc -target [\w-]+ -fno-sanitize=undefined"\)$', text, re.MULTILINE
    )
    assert lists == ["C", "ASM"]

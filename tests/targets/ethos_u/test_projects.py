"""Projects for a board with an NPU have its drivers, and the address of its registers; one is built and run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.codegen.projects.made import put
from tests.codegen.projects.test_cmake import ZIG, built
from tests.targets.ethos_u.test_target import network
from tilewright import targets
from tilewright.codegen import projects
from tilewright.codegen.projects.project import Content, Project
from tilewright.errors import CompileError, present
from tilewright.pipeline import Compiled, stages
from tilewright.target.runner import UNICORN
from tilewright.target.settings import Settings

BOARD = "alif-e7+u55-128"
DRIVERS = {"ethos_u_driver.h", "ethos_u_core_driver.h"}


@cache
def content(kind: str, emulator: str = "") -> dict[str, Content]:
    compiled = Compiled(*stages(network(), BOARD, settings=Settings(emulator=emulator)))
    return projects.files(kind, Project(compiled.schedule, compiled.quantised, "pool"))


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("cmake", ("cmake/arm-none-eabi-gcc.cmake", "cmake/zig.cmake")),
        ("zephyr", ("CMakeLists.txt",)),
        ("cmsis-pack", ()),
    ],
    ids=["cmake", "zephyr", "cmsis-pack"],
)
def test_projects(kind: str, files: tuple[str, ...]) -> None:
    found = content(kind)
    assert {name.rpartition("/")[2] for name in found} >= DRIVERS
    assert all("-DTW_ETHOS_U_BASE=0x400e1000u" in str(found[name]) for name in files)


@pytest.mark.in_turns(3)
def test_a_cmake_project_runs_its_stream(tmp_path: Path) -> None:
    """With the emulated NPU where the project says that registers are: means of zeros are zeros."""
    build = built(put(content("cmake", UNICORN), tmp_path), "--toolchain", "cmake/zig.cmake", ZIG)
    stand_in = present(targets.find(BOARD).in_unicorn, BOARD, "has no stand-in")
    with stand_in().machine() as machine:
        machine.load(build / "pool_app.elf")
        report = machine.run(10**8)
    assert report.exit_code == 0
    assert machine.stdout.startswith("result 0 0 0 0 0 0 0 0 0 0\nas expected\n")


def test_an_arduino_library_cannot_say_where_registers_are() -> None:
    with pytest.raises(CompileError, match="which the kernels of alif-e7\\+u55-128 need"):
        content("arduino")

"""Projects for a board with an NPU have its drivers, and the address of its registers."""

from __future__ import annotations

from functools import cache

import pytest

from tests.targets.ethos_u.test_target import network
from tilewright.codegen import projects
from tilewright.codegen.projects.project import Content, Project
from tilewright.errors import CompileError
from tilewright.pipeline import compile_graph

DRIVERS = {"ethos_u_driver.h", "ethos_u_core_driver.h"}


@cache
def content(kind: str) -> dict[str, Content]:
    compiled = compile_graph(network(), "alif-e7+u55-128")
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


def test_an_arduino_library_cannot_say_where_registers_are() -> None:
    with pytest.raises(CompileError, match="which the kernels of alif-e7\\+u55-128 need"):
        content("arduino")

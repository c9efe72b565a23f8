"""Every kernel file compiles on its own, without a warning, under each compiler at hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tilewright import targets
from tilewright.toolchain import STRICT, find_compiler

SOURCES = [path for name in targets.names() for path in sorted((targets.find(name).folder / "kernels").glob("*.c"))]


@pytest.mark.parametrize("cc", [None, "gcc"])
def test_kernels_compile_alone(cc: str | None, tmp_path: Path) -> None:
    if cc and not shutil.which(cc):
        pytest.skip(f"{cc} is not installed")
    compiler = find_compiler(cc)
    for source in SOURCES:
        compiler.run(
            [*STRICT, "-Wno-missing-prototypes", "-O1", "-c", str(source), "-o", str(tmp_path / "x.o")], tmp_path
        )


def test_every_kernel_file_is_used() -> None:
    for name in targets.names():
        target = targets.find(name)
        named = {kernel.source for engine in target.engines for kernel in engine.kernels}
        assert {path.name for path in (target.folder / "kernels").glob("*.c")} == named

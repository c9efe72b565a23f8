"""Every kernel file of the cluster compiles on its own, without a warning, for both encodings of its instructions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.targets.siracusa.machine import SIRACUSA
from tilewright.toolchain.compiler import STRICT, compile_objects, find_compiler

SOURCES = sorted((SIRACUSA.folder / "kernels").glob("*.c"))
HEADERS = [f"-I{folder / 'kernels'}" for folder in SIRACUSA.folders]
LIBRARY = f"-I{SIRACUSA.runtime_files()['libc/math.c'].parent}"
MACHINE = ("-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+c+f", LIBRARY)


@pytest.mark.parametrize("flags", [MACHINE, (*MACHINE, "-DTW_COREV")], ids=["xpulp", "corev"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_compiles_alone(source: Path, flags: tuple[str, ...], tmp_path: Path) -> None:
    quiet = [*STRICT, "-Wno-missing-prototypes", "-g0", "-O2", "-fomit-frame-pointer"]
    compile_objects({source: [*flags, *quiet, *HEADERS]}, tmp_path, find_compiler())

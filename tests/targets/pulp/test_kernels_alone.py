"""Every kernel file of the cluster and of N-EUREKA compiles on its own, without a warning, also for the other encoding
of its instructions; where kernels are run, they are compiled for the first one, as strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import quickly
from tests.targets.pulp.machine import SIRACUSA
from tilewright.toolchain.compiler import STRICT, compile_objects, find_compiler

FOLDERS = [folder for folder in SIRACUSA.folders if folder.name in ("pulp", "hwpe")]
SOURCES = sorted(path for folder in FOLDERS for path in folder.glob("kernels/*.c"))
HEADERS = [f"-I{folder / 'kernels'}" for folder in SIRACUSA.folders]
LIBRARY = f"-I{SIRACUSA.runtime_files()['libc/math.c'].parent}"
FLAGS = [
    "-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+c+f", LIBRARY, *HEADERS,
    *STRICT, "-Wno-missing-prototypes", "-g0", "-O2", "-fomit-frame-pointer", *quickly.FLAGS,
]  # fmt: skip


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_compiles_alone(source: Path, tmp_path: Path) -> None:
    compile_objects({source: [*FLAGS, "-DTW_COREV"]}, tmp_path, find_compiler())

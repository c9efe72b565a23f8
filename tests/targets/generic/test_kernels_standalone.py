"""Every kernel file compiles on its own, without a warning, under each compiler at hand, and some target uses it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tilewright import targets
from tilewright.target.processors import processor_flags
from tilewright.target.target import Target
from tilewright.toolchain.compiler import STRICT, compile_objects, find_compiler

WARNING = {None: ("-O0", "-fno-sanitize=all"), "gcc": ("-O1",)}
"""What a compiler is told to warn of all that it can: clang does so as it reads, gcc also as it optimises."""

TARGETS = [targets.find(name) for name in targets.names()]
WITH_INSTRUCTIONS = ("snitch",)
"""Targets whose kernels have instructions of their core that nothing stands for elsewhere."""
HEADERS_OF_A_LIBRARY = Path(targets.__file__).parent / "bare" / "runtime" / "libc"


def named(target: Target) -> set[Path]:
    """Sources of its kernels, wherever they lie."""
    return {target.kernel_file(kernel.source) for engine in target.engines for kernel in engine.kernels}


def own_sources(target: Target) -> list[Path]:
    """Those of its own folder; members of a family have some of it each."""
    return sorted(path for path in named(target) if path.is_relative_to(target.folder))


def header_folders(target: Target) -> list[str]:
    return [f"-I{folder / 'kernels'}" for folder in target.folders]


@pytest.mark.parametrize(
    "target", [target for target in TARGETS if own_sources(target)], ids=lambda target: target.name
)
@pytest.mark.parametrize("cc", [None, "gcc"])
def test_kernels_compile_alone(cc: str | None, target: Target, tmp_path: Path) -> None:
    if cc and not shutil.which(cc):
        pytest.skip(f"{cc} is not installed")
    is_elsewhere = target.emulated or target.name in WITH_INSTRUCTIONS
    if cc and is_elsewhere:
        pytest.skip(f"{cc} is for this machine, the kernels of {target.name} are for its core")
    compiler = find_compiler(cc)
    core = [*target.flags, f"-I{HEADERS_OF_A_LIBRARY}"] if is_elsewhere else []
    if target.cluster and core:
        core += [
            "-DTW_CORES=8",
            "-include",
            str(target.kernel_file("team.h")),
        ]  # a header of another folder would find its neighbour
    here = [*target.definitions, *processor_flags(target.processor, compiler.is_zig)] if target.processor else []
    quiet = [*STRICT, "-Wno-missing-prototypes", "-g0", *(core or WARNING[cc]), *here, *header_folders(target)]
    compile_objects(dict.fromkeys(own_sources(target), quiet), tmp_path, compiler)


def test_every_kernel_file_is_used() -> None:
    found = {path for target in TARGETS for path in named(target)}
    folders = {folder / "kernels" for target in TARGETS for folder in target.folders}
    assert all(path.is_file() for path in found)
    assert {path for folder in folders for path in folder.glob("*.c")} <= found

"""Every kernel file compiles on its own, without a warning, under each compiler at hand, and some target uses it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tilewright import targets
from tilewright.target.target import Target
from tilewright.toolchain.compiler import STRICT, compile_objects, find_compiler

WARNING = {None: ("-O0", "-fno-sanitize=all"), "gcc": ("-O1",)}
"""What a compiler is told to warn of all that it can: clang does so as it reads, gcc also as it optimises."""

TARGETS = [targets.find(name) for name in targets.names()]


def own_sources(target: Target) -> list[Path]:
    return sorted((target.folder / "kernels").glob("*.c"))


def header_folders(target: Target) -> list[str]:
    folders = target.folders
    return [f"-I{folder / 'kernels'}" for folder in folders]


@pytest.mark.parametrize(
    "target", [target for target in TARGETS if own_sources(target)], ids=lambda target: target.name
)
@pytest.mark.parametrize("cc", [None, "gcc"])
def test_kernels_compile_alone(cc: str | None, target: Target, tmp_path: Path) -> None:
    if cc and not shutil.which(cc):
        pytest.skip(f"{cc} is not installed")
    quiet = [*STRICT, "-Wno-missing-prototypes", "-g0", *WARNING[cc], *header_folders(target)]
    compile_objects(dict.fromkeys(own_sources(target), quiet), tmp_path, find_compiler(cc))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_kernel_file_is_used(target: Target) -> None:
    named = {kernel.source for engine in target.engines for kernel in engine.kernels}
    own = {path.name for path in own_sources(target)}
    assert own <= named
    assert all(target.kernel_file(name).is_file() for name in named)

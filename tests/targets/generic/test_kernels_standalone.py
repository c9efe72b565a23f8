"""Every kernel file compiles on its own, without a warning, under each compiler at hand, and some target uses it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import quickly
from tests.support.processors import processor_of
from tilewright import targets
from tilewright.instruction.patterns import PATTERNS
from tilewright.target.processors import PROCESSORS, processor_flags, vectors_of
from tilewright.target.target import Target
from tilewright.toolchain.compiler import (
    STRICT,
    Compiler,
    cache_folder,
    compile_objects,
    find_compiler,
    find_cross_compiler,
)
from tilewright.toolchain.object_cache import ObjectCache, bound
from tilewright.toolchain.read_before import begin_with
from tilewright.toolchain.zig_clang import clang_of, clang_options, same_options

pytestmark = pytest.mark.in_turns(8)

READ = "-fsyntax-only"
OPTIMISED = "-Og"
"""Clang warns of all that it can as it reads; gcc also as it optimises. With -Og it looks for the same as with -O1, in
half of the time."""

TARGETS = [targets.find(name) for name in targets.names()]
GENERIC = targets.find("generic")
WITH_INSTRUCTIONS = ("snitch",)
"""Targets whose kernels have instructions of their core that nothing stands for elsewhere."""
HEADERS_OF_A_LIBRARY = Path(targets.__file__).parent / "bare" / "runtime" / "libc"


def named(target: Target) -> set[Path]:
    """Sources of its kernels, wherever they lie, also of those for instructions that a user adds."""
    all_of = [engine.extended(engine, frozenset(PATTERNS)) if engine.extended else engine for engine in target.engines]
    return {target.kernel_file(kernel.source) for engine in all_of for kernel in engine.kernels}


def own_sources(target: Target) -> list[Path]:
    """All but the portable ones, which are generic's own."""
    shared = set() if target.name == GENERIC.name else named(GENERIC)
    return sorted(named(target) - shared)


def is_elsewhere(target: Target) -> bool:
    """Whether its kernels are for its core alone."""
    return bool(target.runner.emulator) or target.name in WITH_INSTRUCTIONS


def header_folders(target: Target) -> list[str]:
    return [f"-I{folder / 'kernels'}" for folder in target.folders]


def read(sources: Sequence[Path], flags: Sequence[str], folder: Path, compiler: Compiler) -> None:
    """Without making code of them; starting gcc takes as long as reading."""
    if not compiler.is_zig:
        check([*compiler.command, READ, *flags, *map(str, sources)], folder)
        return
    clang, options = clang_of(compiler.command), clang_options(compiler.command, flags, ".c", cache_folder() / "zig")
    assert options
    words = [*(word for word in options if word != "-c"), *same_options(flags)]
    for source in sources:
        begun = begin_with(clang, options, source, flags, folder, ObjectCache(cache_folder() / "objects", bound()))
        check([*clang, READ, *words, *begun, str(source)], folder)


def check(words: Sequence[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


CASES = [
    (cc, target)
    for cc in (None, "gcc")
    for target in TARGETS
    if own_sources(target) and not (cc and is_elsewhere(target))
]
"""The compiler of this machine takes what is for this machine."""


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    ("cc", "target"), CASES, ids=lambda one: one.name if isinstance(one, Target) else one or "default"
)
def test_kernels_compile_alone(cc: str | None, target: Target, tmp_path: Path) -> None:
    if cc and not shutil.which(cc):
        pytest.skip(f"{cc} is not installed")
    compiler, sources = find_compiler(cc), own_sources(target)
    flags = [*STRICT, "-g0", *header_folders(target)]
    if is_elsewhere(target):
        flags += for_core(target)
        compile_objects(dict.fromkeys(sources, flags), tmp_path, compiler)
        return
    read(sources, [*flags, *for_computer(target, compiler)], tmp_path, compiler)


def for_computer(target: Target, compiler: Compiler) -> list[str]:
    if not processor_of(target):
        return []
    return [*target.definitions, *processor_flags(processor_of(target), compiler.is_zig)]


@pytest.mark.in_turns(10)
@pytest.mark.thorough
@pytest.mark.parametrize("name", ["generic", "cpu"])
def test_gcc_warns_of_nothing_as_it_optimises(name: str, tmp_path: Path) -> None:
    """Kernels for this machine, which it may be asked to compile."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    target, compiler = targets.find(name), find_compiler("gcc")
    flags = [*STRICT, "-g0", *header_folders(target), *for_computer(target, compiler), OPTIMISED]
    compile_objects(dict.fromkeys(own_sources(target), flags), tmp_path, compiler)


def one_of_each_kind() -> list[Target]:
    """Targets of computers, for the first processor of every kind of machine and vectors."""
    computers = [one for target in TARGETS for one in target.for_every_processor if processor_of(one)]
    kinds = {(PROCESSORS[processor_of(one)].machine, vectors_of(processor_of(one))): one for one in reversed(computers)}
    return list(kinds.values())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", one_of_each_kind(), ids=processor_of)
def test_kernels_for_any_computer_compile_on_this_one(target: Target, tmp_path: Path) -> None:
    machine = ["-target", f"{PROCESSORS[processor_of(target)].machine}-freestanding-none", "-ffreestanding"]
    flags = [*STRICT, "-g0", *header_folders(target), *for_core(target), *machine]
    read(
        own_sources(target),
        [*flags, *processor_flags(processor_of(target), is_zig=True)],
        tmp_path,
        find_cross_compiler(),
    )


def for_core(target: Target) -> list[str]:
    flags = [*target.flags, *quickly.FLAGS, f"-I{HEADERS_OF_A_LIBRARY}"]
    if target.links:
        team = str(target.kernel_file("team.h"))  # a header of another folder would find its neighbour
        flags += ["-DTW_CORES=8", "-include", team]
    return flags


def test_every_kernel_file_is_used() -> None:
    found = {path for target in TARGETS for one in target.for_every_processor for path in named(one)}
    folders = {folder / "kernels" for target in TARGETS for folder in target.folders}
    assert all(path.is_file() for path in found)
    assert {path for folder in folders for path in folder.glob("*.c")} <= found

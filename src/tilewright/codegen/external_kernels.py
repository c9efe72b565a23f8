"""Kernels from outside the package in the output folder: the library that they call, and how both are compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from tilewright.codegen.kernels import Instance
from tilewright.errors import CompileError, InternalError
from tilewright.target.target import ExternalKernels, Target
from tilewright.toolchain.compiler import FAILED

LENIENT = ("-Wno-error", "-Wno-pedantic")
SILENT = ("-std=gnu11", "-w", "-fhosted")
"""For kernels of the user's, and for a library that is nobody's here to mend."""


def library_files(target: Target, used: Sequence[Instance]) -> dict[str, str]:
    """The files of libraries that kernels of this network need."""
    return {
        f"{_place(one)}/{name}": path.read_text(encoding="utf-8", errors="replace")
        for one in target.external_kernels
        if (sources := _sources(one, used))
        for name, path in one.library(sources).items()
    }


def flags_of(target: Target, used: Sequence[Instance], names: Iterable[str]) -> dict[str, list[str]]:
    """What the compiler is told besides for those of the files that come from outside."""
    found: dict[str, list[str]] = {}
    for one in target.external_kernels:
        own = {f"kernels/{instance.file}" for instance in used if instance.kernel.source in one.files}
        includes = [word for name in one.includes for word in ("-I", _joined(_place(one), name))]
        for name in names:
            if name in own:
                found[name] = [*LENIENT, *includes, *one.flags]
            elif name.startswith(f"{_place(one)}/"):
                found[name] = [*SILENT, *includes, *one.flags]
    return found


def cmake_lines(target: Target, used: Sequence[Instance], names: Iterable[str]) -> str:
    """The same for CMake."""
    lines: dict[str, list[str]] = {}
    for name, flags in flags_of(target, used, sorted(names)).items():
        if name.endswith(".c"):
            words = ";".join(_cmake_word(word) for word in _joined_includes(flags) if word not in LENIENT)
            lines.setdefault(words, []).append(name)
    return "".join(
        "set_source_files_properties(\n"
        + "".join(f"  {name}\n" for name in files)
        + f'  PROPERTIES COMPILE_OPTIONS "{words}")\n'
        for words, files in lines.items()
        if words
    )


@contextlib.contextmanager
def blaming(target: Target) -> Iterator[None]:
    """What a compiler says about files from outside is shown as theirs."""
    try:
        yield
    except CompileError as error:
        if not target.external_kernels or FAILED not in error.what:
            raise
        for one in target.external_kernels:
            for name, path in one.files.items():
                if f"{name}:" in error.what:
                    raise CompileError(str(path), f"does not compile\n{_said(error)}", "fix the C source") from None
        where = ", ".join(f"--kernels {one.folder}" for one in target.external_kernels)
        hint = "is a source or a flag missing in kernels.py?"
        raise CompileError(where, f"cannot be built\n{_said(error)}", hint) from None


@contextlib.contextmanager
def responsible(target: Target) -> Iterator[None]:
    """A program that fails is not our fault where code from outside is part of it."""
    try:
        yield
    except InternalError as error:
        if not target.external_kernels:
            raise
        whose = " and ".join(str(one.folder) for one in target.external_kernels)
        hint = f"kernels of {whose} are part of the program: do they stay within their arrays?"
        raise CompileError(error.where, error.what, hint) from error


def _said(error: CompileError) -> str:
    return error.what.partition(FAILED)[2].lstrip("\n")


def _sources(one: ExternalKernels, used: Sequence[Instance]) -> list[str]:
    return [instance.kernel.source for instance in used if instance.kernel.source in one.files]


def _place(one: ExternalKernels) -> str:
    return f"kernels/{one.name}"


def _joined(place: str, name: str) -> str:
    return str(PurePosixPath(place, name))


def _joined_includes(flags: Sequence[str]) -> list[str]:
    """`-I folder` as one word, from where CMake runs."""
    found: list[str] = []
    for word in flags:
        if found and found[-1] == "-I":
            found[-1] = f"-I${{CMAKE_CURRENT_SOURCE_DIR}}/{word}"
        else:
            found.append(word)
    return found


def _cmake_word(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"')


def with_flags(sources: Mapping[str, Sequence[str]], target: Target, used: Sequence[Instance]) -> dict[str, list[str]]:
    """The options of sources, by their names in the folder, with those of what comes from outside."""
    more = flags_of(target, used, sources)
    return {name: [*flags, *more.get(name, ())] for name, flags in sources.items()}

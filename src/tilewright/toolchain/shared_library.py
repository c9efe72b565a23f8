"""Shared libraries of C that this process calls, kept by their content."""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.toolchain.compiler import UNSANITISED, Compiler, _processor, cache_folder, compile_objects, locked

FLAGS = ("-std=c99", "-O1", "-g0", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fno-sanitize=all")
ZIG_BARE_LINK = ("-nostdlib", "-rtlib=none")
"""Without these zig first builds a runtime library, which takes longer than all else. The process has a C library."""
UNWRITABLE = "set TILEWRIGHT_CACHE to a writable folder"


def library_of(texts: Mapping[str, str], kind: str, compiler: Compiler, flags: Sequence[str] = FLAGS) -> Path:
    """The library of the sources among some texts, which include the others by their names; `kind` names the folder of
    the cache that it is kept in."""
    folder = cache_folder() / kind
    made = folder / f"{_key(texts, compiler, flags)}.so"
    if made.is_file():
        return made
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / "lock"):
            if not made.is_file():
                _build_into(made, texts, compiler, flags)
    except OSError as error:
        raise CompileError(str(folder), f"cannot be written: {error.strerror}", UNWRITABLE) from None
    return made


def _key(texts: Mapping[str, str], compiler: Compiler, flags: Sequence[str]) -> str:
    """The compiler's path stands for its version: asking it would cost more than a start may take."""
    digest = hashlib.sha256("\0".join([*compiler.command, *flags, _processor()]).encode())
    for name, text in sorted(texts.items()):
        digest.update(f"\0{name}\0{len(text)}\0{text}".encode())
    return digest.hexdigest()[:32]


def _build_into(made: Path, texts: Mapping[str, str], compiler: Compiler, flags: Sequence[str]) -> None:
    """The library appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=made.parent) as draft:
        folder = Path(draft)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        sources = [folder / name for name in sorted(texts) if name.endswith(".c")]
        link_library(
            compile_objects(dict.fromkeys(sources, tuple(flags)), folder, compiler), folder / "made.so", compiler
        )
        os.replace(folder / "made.so", made)


def link_library(objects: Sequence[Path], made: Path, compiler: Compiler) -> None:
    """A shared library of objects, in its folder."""
    link = [*UNSANITISED, "-shared", *map(str, objects), "-o", made.name]
    if not (compiler.is_zig and _links_bare(link, made, compiler)):
        compiler.run([*link, "-lm"], made.parent)


def _links_bare(link: list[str], made: Path, compiler: Compiler) -> bool:
    """Is everything that it needs in this process?"""
    try:
        compiler.run([*link, *ZIG_BARE_LINK], made.parent)
        ctypes.CDLL(str(made))
    except (CompileError, OSError):
        return False
    return True

"""Zig starts a second process, its clang, for every file that it compiles. Asked once what it tells clang, it is left
out after that: compiling a small file takes half as long."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

PROBE = "tilewright_probe"
TEXTS = {".c": f"extern int {PROBE};\n", ".S": "\n"}
"""Sources of each kind that compile with any options."""
ASKED = {"ZIG_VERBOSE_CC": "1"}
TIMEOUT = 120
DEFINED, INCLUDED = "-D", "-include"
"""Options that clang gets as they are: there are many definitions, and a file that is read first lies in one folder."""
ALONE, WITH_VALUE = ("-MD", "-MV"), ("-MF", "-o")
"""Words that are about one file: what it depends on, and where its object goes."""


def clang_of(command: tuple[str, ...]) -> tuple[str, ...]:
    return command[0], "clang"


def clang_options(command: tuple[str, ...], flags: Sequence[str], suffix: str, kept: Path) -> tuple[str, ...] | None:
    """What zig's options are for its clang, but for those that are the same; None where zig itself is to compile. Zig's
    own cache is in `kept`."""
    same = _are_the_same(flags)
    return _words(command, tuple(word for word, is_same in zip(flags, same, strict=True) if not is_same), suffix, kept)


def same_options(flags: Sequence[str]) -> list[str]:
    """Of options for zig, those that clang gets as they are: definitions, and files that are read first."""
    return [word for word, is_same in zip(flags, _are_the_same(flags), strict=True) if is_same]


def _are_the_same(flags: Sequence[str]) -> list[bool]:
    before = ["", *flags]
    return [word.startswith(DEFINED) or INCLUDED in (word, last) for last, word in zip(before, flags, strict=False)]


@cache
def _words(command: tuple[str, ...], flags: tuple[str, ...], suffix: str, kept: Path) -> tuple[str, ...] | None:
    """The options that zig gives to clang, which it prints without quotes."""
    if suffix not in TEXTS or any(character.isspace() for word in (*command, *flags) for character in word):
        return None
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        name = f"{PROBE}{suffix}"
        (Path(folder) / name).write_text(TEXTS[suffix])
        settings = {"ZIG_GLOBAL_CACHE_DIR": str(kept), **os.environ, **ASKED, "ZIG_LOCAL_CACHE_DIR": folder}
        asked = [*command, *flags, "-c", name, "-o", "probe.o"]
        try:
            done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, env=settings, timeout=TIMEOUT)
        except (OSError, subprocess.TimeoutExpired):
            return None
    lines = [line.split() for line in done.stderr.splitlines() if f" clang {name} " in line]
    return _options(lines[0][lines[0].index(name) + 1 :]) if len(lines) == 1 and done.returncode == 0 else None


def _options(words: Sequence[str]) -> tuple[str, ...]:
    kept, given = [], iter(words)
    for word in given:
        if word in WITH_VALUE:
            next(given, None)
        elif word not in ALONE:
            kept.append(word)
    return tuple(kept)

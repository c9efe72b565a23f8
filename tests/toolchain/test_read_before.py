"""A program that begins with what clang has read of a header before is the same to the bit, in this process and in
another."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tilewright.toolchain import compiler, read_before
from tilewright.toolchain.compiler import Compiler, compile_objects, find_cross_compiler
from tilewright.toolchain.processes import Processes

MVE = ["-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m55+mve_fp", "-O2", "-g0", "-std=c99", "-Werror"]
PLAIN = ["-target", "thumb-freestanding-eabi", "-mcpu=cortex_m4", "-O2", "-g0", "-std=c99", "-Werror"]
SUM = '#include "sum.h"\nint sum(int8x16_t x) { return vaddvq_s8(x) + TW_ADDED; }\n'
CONDITION = "#ifdef TW_MVE\n#include <arm_mve.h>\n#endif\nint one(void) { return 1; }\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    read_before._read.cache_clear()


def compiled(folder: Path, text: str, flags: list[str], compiler: Compiler | None = None) -> bytes:
    """Anew."""
    folder.mkdir()
    (folder / "sum.h").write_text("#include <arm_mve.h>\n")
    (folder / "sum.c").write_text(text)
    sources = {folder / "sum.c": [*flags, f"-DTW_ADDED={len(folder.name)}"]}
    (made,) = compile_objects(sources, folder, compiler or find_cross_compiler())
    return made.read_bytes()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands with what was read before in them; clang takes each, or zig would compile."""
    commands, alone, among_others = list[list[str]](), subprocess.run, Processes.run

    def noted(words: list[str]) -> list[str]:
        commands.extend([words] if "-include-pch" in words or "c-header" in words else [])
        return words

    monkeypatch.setattr(subprocess, "run", lambda words, **given: alone(noted(words), **given))
    monkeypatch.setattr(Processes, "run", lambda self, words, **given: among_others(self, noted(words), **given))
    monkeypatch.setattr(Compiler, "run", lambda *given: pytest.fail("zig"))
    return commands


@pytest.mark.in_turns(3)
def test_objects_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[list[str]]) -> None:
    with monkeypatch.context() as without:
        without.setattr(compiler, "begin_with", lambda *given: ())
        wanted = compiled(tmp_path / "x", SUM, MVE)
    assert not started
    (tmp_path / "cache" / "objects").rename(tmp_path / "away")
    assert compiled(tmp_path / "y", SUM, MVE) == wanted
    assert compiled(tmp_path / "other", SUM, MVE) != wanted
    assert ["c-header" in words for words in started] == [True, False, False]


@pytest.mark.in_turns(3)
def test_another_process_takes_what_was_read(tmp_path: Path, started: list[list[str]]) -> None:
    compiled(tmp_path / "x", SUM, MVE)
    read_before._read.cache_clear()
    read_before._own_folder.cache_clear()
    compiled(tmp_path / "other", SUM, MVE)
    assert ["c-header" in words for words in started] == [True, False, False]


def test_headers_for_other_processors_are_left_out(tmp_path: Path, started: list[list[str]]) -> None:
    compiled(tmp_path / "x", CONDITION, PLAIN)
    assert ["c-header" in words for words in started] == [True]


def test_headers_of_a_programs_own_are_not_the_compilers(tmp_path: Path, started: list[list[str]]) -> None:
    """Also one that has the same name and the same guard."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "arm_mve.h").write_text("#ifndef __ARM_MVE_H\n#define __ARM_MVE_H\n#define TW_OWN 1\n#endif\n")
    text = '#include "sum.h"\n#ifndef TW_OWN\n#define TW_OWN 0\n#endif\nconst int is_own = TW_OWN;\n'
    made = compiled(tmp_path / "x", text, [*MVE, f"-I{tmp_path / 'own'}"])
    assert not started
    assert made == compiled(tmp_path / "y", "extern const int is_own;\nconst int is_own = 1;\n", MVE)


def test_a_compiler_that_the_path_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[list[str]]
) -> None:
    monkeypatch.setenv("PATH", str(Path(find_cross_compiler().command[0]).parent), prepend=os.pathsep)
    compiled(tmp_path / "x", SUM, MVE, find_cross_compiler("zig cc"))
    assert ["c-header" in words for words in started] == [True, False]

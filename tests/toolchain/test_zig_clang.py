"""Files that zig's clang compiles without zig are those that zig makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tilewright.errors import CompileError
from tilewright.toolchain.compiler import Compiler, compile_objects, find_compiler, find_cross_compiler, link_objects
from tilewright.toolchain.object_cache import VARIABLE
from tilewright.toolchain.zig_clang import clang_options

ARM = [
    "-target",
    "thumb-freestanding-eabi",
    "-mcpu=cortex_m4",
    "-O2",
    "-g0",
    "-std=c99",
    "-Wall",
    "-Werror",
    "-pedantic",
]
C = """
extern int table[];
int twice(int x);
static int added(int x) { return x + TW_ADDED; }
int twice(int x) { return 2 * added(x) + table[1]; }
"""
ASSEMBLY = ".syntax unified\n.text\n.globl _start, table\n_start: b twice\n.data\ntable: .word 1, TW_ADDED\n"


def sources(folder: Path, c: str = C) -> list[Path]:
    (folder / "twice.c").write_text(c)
    (folder / "table.S").write_text(ASSEMBLY)
    return [folder / "twice.c", folder / "table.S"]


def program(folder: Path, flags: Sequence[str]) -> bytes:
    compiler = find_cross_compiler()
    (folder / "first.h").write_text("#define TW_ADDED TW_GIVEN\n")
    objects = compile_objects({source: [*ARM, *flags] for source in sources(folder)}, folder, compiler)
    link_objects(objects, [], folder / "made", compiler, [*ARM, "-nostdlib", "-rtlib=none", "-Wl,--strip-all"])
    return (folder / "made").read_bytes()


@pytest.mark.parametrize("flags", [["-DTW_ADDED=5"], ["-DTW_GIVEN=7", "-include", "first.h"]], ids=["-D", "-include"])
def test_programs_are_the_same(flags: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    (tmp_path / "zig").mkdir()
    (tmp_path / "clang").mkdir()
    with monkeypatch.context() as without:
        without.setattr(Compiler, "_compiled_by_clang", lambda *given: False)
        wanted = program(tmp_path / "zig", flags)
    with monkeypatch.context() as without:
        real = Compiler.run
        without.setattr(
            Compiler,
            "run",
            lambda self, words, *rest: pytest.fail("zig") if "-c" in words else real(self, words, *rest),
        )
        assert program(tmp_path / "clang", flags) == wanted


def test_what_clang_minds_is_told_by_zig(tmp_path: Path) -> None:
    (source, _) = sources(tmp_path, C + "int wrong(void) { return unknown; }\n")
    with pytest.raises(CompileError, match=r"twice\.c:6.* undeclared identifier 'unknown'"):
        compile_objects({source: [*ARM, "-DTW_ADDED=5"]}, tmp_path, find_cross_compiler())


@pytest.mark.parametrize(("flag", "name"), [("-I/a folder", "x.c"), ("-O2", "x.cpp"), ("-no-such-option", "x.c")])
def test_zig_does_what_is_not_known(flag: str, name: str, tmp_path: Path) -> None:
    assert clang_options(find_compiler().command, [flag], Path(name).suffix, tmp_path) is None

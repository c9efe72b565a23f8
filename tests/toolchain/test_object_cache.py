"""Objects are kept by all that they depend on, whole or not at all, and not too many of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from tilewright.errors import CompileError
from tilewright.toolchain.compiler import Compiler, compile_objects, find_compiler
from tilewright.toolchain.object_cache import ABANDONED, DRAFT, ENTRY, MB, VARIABLE, ObjectCache, bound, key_of

HEADER = '#include "inner.h"\n'


# ---- the folder -------------------------------------------------------------------------------------------------


def kept(folder: Path, key: str, data: bytes, most: int = MB) -> ObjectCache:
    cache = ObjectCache(folder / "objects", most)
    (folder / "made.o").write_bytes(data)
    cache.keep(key, folder / "made.o")
    return cache


@pytest.mark.fast
def test_what_was_kept_is_taken(tmp_path: Path) -> None:
    cache = kept(tmp_path, "key", b"object")
    assert cache.take("key", tmp_path / "x.o")
    assert (tmp_path / "x.o").read_bytes() == b"object"
    assert not cache.take("another", tmp_path / "y.o")
    assert not (tmp_path / "y.o").exists()


@pytest.mark.fast
@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"x" + data[1:], lambda data: b""]
)
def test_a_damaged_entry_is_dropped(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    cache = kept(tmp_path, "key", b"object")
    entry = tmp_path / "objects" / f"key{ENTRY}"
    entry.write_bytes(damage(entry.read_bytes()))
    assert not cache.take("key", tmp_path / "x.o")
    assert not entry.exists()
    assert not (tmp_path / "x.o").exists()


@pytest.mark.fast
def test_the_ones_not_used_for_longest_go(tmp_path: Path) -> None:
    cache = kept(tmp_path, "0", b"x" * 1000, most=10_000)
    for number in range(1, 9):
        (tmp_path / "made.o").write_bytes(b"x" * 1000)
        cache.keep(str(number), tmp_path / "made.o")
        os.utime(tmp_path / "objects" / f"{number}{ENTRY}", (number, number))
    assert cache.take("1", tmp_path / "x.o")
    cache.keep("9", tmp_path / "made.o")
    assert {path.stem for path in (tmp_path / "objects").iterdir()} == {"0", "1", "9", "8", "7", "6", "5"}
    assert sum(path.stat().st_size for path in (tmp_path / "objects").iterdir()) <= 7500


@pytest.mark.fast
def test_drafts_of_processes_that_were_killed_go(tmp_path: Path) -> None:
    cache = kept(tmp_path, "key", b"object")
    old, new = (tmp_path / "objects" / f"{name}{DRAFT}" for name in ("old", "new"))
    for draft, age in ((old, 2 * ABANDONED), (new, 0.0)):
        draft.write_bytes(b"")
        os.utime(draft, (time.time() - age,) * 2)
    cache.trim()
    assert not old.exists()
    assert new.exists()
    assert cache.take("key", tmp_path / "x.o")


def write_and_take(folder: str) -> list[str]:
    """Every object that is taken has the bytes of some writer, whole."""
    cache, wrong = ObjectCache(Path(folder) / "objects", 40_000), []
    place = Path(folder) / f"{os.getpid()}.o"
    for turn in range(200):
        place.write_bytes(bytes([os.getpid() % 251]) * 3000)
        cache.keep(f"key{turn % 20}", place)
        if cache.take(f"key{turn * 7 % 20}", place) and len(set(data := place.read_bytes())) * 3000 != len(data):
            wrong.append(f"turn {turn}: {len(data)} bytes of {sorted(set(data))}")
    return wrong


@pytest.mark.in_turns(6)
def test_writers_at_the_same_time(tmp_path: Path) -> None:
    # Not forked: this process has threads, whose locks a fork would copy as they are.
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        assert list(pool.map(write_and_take, [str(tmp_path)] * 4)) == [[]] * 4
    entries = list((tmp_path / "objects").iterdir())
    assert not [path for path in entries if path.suffix == DRAFT]
    assert sum(path.stat().st_size for path in entries) <= 50_000


# ---- keys -------------------------------------------------------------------------------------------------------


def sources(folder: Path) -> Path:
    folder.mkdir()
    (folder / "x.c").write_text('#include "outer.h"\nint x = VALUE;\n')
    (folder / "outer.h").write_text(HEADER)
    (folder / "inner.h").write_text("#ifndef VALUE\n#define VALUE 1\n#endif\n")
    return folder


def key(folder: Path, identity: str = "cc 1.0", *words: str) -> str | None:
    return key_of(identity, words, folder / "x.c", folder)


@pytest.mark.fast
def test_keys_tell_compilers_options_and_texts_apart(tmp_path: Path) -> None:
    folder = sources(tmp_path / "a")
    keys = [key(folder), key(folder, "cc 1.1"), key(folder, "cc 1.0", "-O2"), key(folder, "cc 1.0", "-O", "2")]
    for name in ("x.c", "outer.h", "inner.h"):
        (folder / name).write_text((folder / name).read_text() + "\n")
        keys.append(key(folder))
    assert len({*keys}) == len(keys)
    assert None not in keys


@pytest.mark.fast
@pytest.mark.parametrize(
    ("text", "matters"),
    [
        ("int x;\n", False),
        ("int x = TW_CORES;\n", True),
        ("#ifdef TW_CORES\n#endif\n", True),
        ('#include "own.h"\n', True),
        ("#define A(x) x##_CORES\nint x = A(TW);\n", True),
        ("#define A(x) TW_##x\nint x = A(COR);\n", False),
        ("#define A(x) x##S\n#define B(x, y) A(x##y)\nint x = B(TW_CO, RE);\n", True),
        ("%:define A(x) x%:%:_CORES\nint x = A(TW);\n", True),
        ("int x = TW_CO\\\nRES;\n", True),
    ],
)
def test_definitions_count_where_they_may_be_named(text: str, matters: bool, tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text(text)
    (tmp_path / "own.h").write_text("int x[TW_CORES];\n")

    def keys(*words: str) -> set[str | None]:
        return {key_of("cc", [*words, f"-DTW_CORES={count}"], tmp_path / "x.c", tmp_path) for count in (1, 8)}

    assert len(keys("-g0")) == 1 + matters
    assert len(keys("-g0", "-DCOUNT=TW_CORES")) == len(keys("-g0", "-DTW_A=TW_CORES")) == 2, "another may stand for it"
    assert len(keys("-g3")) == len(keys("-g0", "-g3")) == 2, "an object may say what was defined"


@pytest.mark.fast
def test_keys_do_not_tell_folders_apart(tmp_path: Path) -> None:
    assert key(sources(tmp_path / "a")) == key(sources(tmp_path / "b"))


@pytest.mark.fast
def test_there_is_no_key_for_what_is_not_known(tmp_path: Path) -> None:
    folder = sources(tmp_path / "a")
    (folder / "inner.h").write_text("#include VALUE\n")
    assert key(folder) is None


# ---- the compiler -----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    return sources(tmp_path / "sources")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The source of every start of a compiler."""
    found, compile_one = list[Path](), Compiler.compile

    def counted(self: Compiler, source: Path, *rest: Any) -> None:
        found.append(source)
        compile_one(self, source, *rest)

    monkeypatch.setattr(Compiler, "compile", counted)
    return found


def compiled(source: Path, place: Path, *words: str) -> bytes:
    """The object, made in a folder of its own."""
    place.mkdir()
    (made,) = compile_objects({source: ["-g0", "-O2", *words]}, place, find_compiler())
    return made.read_bytes()


def test_one_start_for_many_programs(folder: Path, runs: list[Path], tmp_path: Path) -> None:
    first = compiled(folder / "x.c", tmp_path / "one")
    assert first == compiled(folder / "x.c", tmp_path / "two")
    assert len(runs) == 1
    assert first != compiled(folder / "x.c", tmp_path / "three", "-DVALUE=3")
    assert len(runs) == 2


def test_a_header_that_changes_makes_another_object(folder: Path, runs: list[Path], tmp_path: Path) -> None:
    first = compiled(folder / "x.c", tmp_path / "one")
    text = (folder / "inner.h").read_text()
    (folder / "inner.h").write_text("#define VALUE 2\n")
    second = compiled(folder / "x.c", tmp_path / "two")
    (folder / "inner.h").write_text(text)
    third = compiled(folder / "x.c", tmp_path / "three")
    assert first != second
    assert first == third
    assert len(runs) == 2


def test_a_damaged_entry_is_made_anew(folder: Path, runs: list[Path], tmp_path: Path) -> None:
    first = compiled(folder / "x.c", tmp_path / "one")
    (entry,) = (tmp_path / "cache" / "objects").iterdir()
    entry.write_bytes(entry.read_bytes()[:-1])
    assert compiled(folder / "x.c", tmp_path / "two") == first
    assert compiled(folder / "x.c", tmp_path / "three") == first
    assert len(runs) == 2


def test_it_can_be_switched_off(
    folder: Path, runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    assert compiled(folder / "x.c", tmp_path / "one") == compiled(folder / "x.c", tmp_path / "two")
    assert len(runs) == 2
    assert not (tmp_path / "cache" / "objects").exists()


def test_an_error_is_not_kept(folder: Path, runs: list[Path], tmp_path: Path) -> None:
    (folder / "inner.h").write_text("#error no value\n")
    for place in ("one", "two"):
        with pytest.raises(CompileError, match="no value"):
            compiled(folder / "x.c", tmp_path / place)
    assert len(runs) == 2
    assert not (tmp_path / "cache" / "objects").exists()


@pytest.mark.fast
def test_a_bound_is_a_number_of_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    assert bound() == 3 * MB
    monkeypatch.setenv(VARIABLE, "many")
    with pytest.raises(CompileError, match="TILEWRIGHT_OBJECT_CACHE_MB=many: is not a number of megabytes"):
        bound()

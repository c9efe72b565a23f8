"""Compilers that are missing or fail."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.support.command import Command, Ran
from tests.support.models import small
from tilewright.toolchain.compiler import BARE, find_compiler, find_cross_compiler


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    onnx.save(small(), tmp_path / "net.onnx")

    def run(*words: str) -> Ran:
        return Command(capsys)("run", tmp_path / "net.onnx", *words)

    return run


@pytest.mark.fast
@pytest.mark.parametrize(
    ("compiler", "what"),
    [
        ("/nonexistent/cc", "cannot be run: not found on the PATH"),
        ("false", "cannot be run: exit code 1"),
        ("nonsense -O2", "cannot be run: not found on the PATH"),
        ("'gcc", "cannot be run: no closing quotation"),
    ],
)
def test_a_compiler_that_cannot_be_run(run: object, compiler: str, what: str) -> None:
    ran = run("--cc", compiler)
    assert ran.code == 2
    assert f"✗ where compiler {compiler}" in ran.err
    assert what in ran.err
    assert "pip install ziglang, or name one: --cc gcc" in ran.err


@pytest.mark.fast
def test_what_is_no_compiler_writes_nothing(run: object) -> None:
    ran = run("--cc", "true")
    assert ran.code == 2
    assert "ended without an error, but wrote nothing" in ran.err
    assert "name a C compiler: --cc gcc" in ran.err


@pytest.mark.fast
def test_the_environment_names_the_compiler(run: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent/from-the-environment")
    assert "compiler /nonexistent/from-the-environment" in run().err


@pytest.mark.fast
def test_programs_for_other_machines_do_not_ask_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent/from-the-environment")
    assert find_cross_compiler().is_zig
    assert not find_cross_compiler("true").is_zig


@pytest.mark.fast
def test_a_compiler_that_hangs_is_ended(run: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.toolchain.compiler.LONGEST_RUN", 0.1)
    fake = tmp_path / "cc"
    fake.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\nexec sleep 600\n')
    fake.chmod(0o755)
    ran = run("--cc", str(fake))
    assert ran.code == 2
    assert "has not finished after 0.1 s" in ran.err
    assert "try another --cc" in ran.err


@pytest.mark.parametrize("said", ["section '.text' will not fit in region 'flash':", "region `flash'"])
def test_a_memory_that_the_linker_finds_too_small_is_named(run: object, tmp_path: Path, said: str) -> None:
    (tmp_path / "said").write_text(f"ld: {said} overflowed by 96 bytes\n")
    fake = tmp_path / "cc"
    fake.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit 0\ncat {tmp_path}/said >&2\nexit 1\n')
    fake.chmod(0o755)
    ran = run("--cc", str(fake))
    assert ran.code == 2
    assert "memory flash" in ran.err
    assert "96 bytes are missing" in ran.err


@pytest.mark.fast
def test_a_compiler_that_fails_is_quoted(run: object, tmp_path: Path) -> None:
    fake = tmp_path / "cc"
    fake.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "weights too heavy" >&2\nexit 1\n')
    fake.chmod(0o755)
    ran = run("--cc", str(fake))
    assert ran.code == 2
    assert "failed:" in ran.err
    assert "weights too heavy" in ran.err
    assert "try another --cc" in ran.err


def test_paths_may_be_relative(run: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_CACHE", "here")
    compiler = " ".join([*find_compiler().command, BARE])
    (tmp_path / "cc").write_text(f'#!/bin/sh\nexec {compiler} "$@"\n')
    (tmp_path / "cc").chmod(0o755)
    assert run("--cc", "./cc").code == 0
    assert list((tmp_path / "here" / "objects").iterdir())


@pytest.mark.fast
@pytest.mark.parametrize("words", [[], ["--cc", "true"]])
def test_a_cache_that_cannot_be_written(run: object, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", "/proc/nowhere")
    ran = run(*words)
    assert ran.code == 2
    assert "set TILEWRIGHT_CACHE to a writable folder" in ran.err

"""`tilewright doctor` says what is there and what is missing, and `--version` names the compiler."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import re
from pathlib import Path

import pytest

from tests.support.command import Command
from tilewright.toolchain import doctor

ROOT = Path(__file__).parents[2]
OTHERS = {"rtl", "gpu-test", "test", "readers", "docs"}
"""Extras that are no packages to look for: a program, and what tests need."""


def test_what_is_there(command: Command) -> None:
    ran = command("doctor", "--json")
    assert ran.code == 0
    found = {one["name"]: one for one in ran.json["checks"]}
    assert found["unicorn"]["found"] == importlib.metadata.version("unicorn")
    assert found["cross compiler"]["works"]
    assert "zig" in found["cross compiler"]["found"]


def test_what_is_missing(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of everything: no programs, no packages, no drivers, and no compiler."""

    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    def no_library(name: str) -> None:
        raise OSError(name)

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(importlib.metadata, "version", absent)
    monkeypatch.setattr(ctypes, "CDLL", no_library)
    ran = command("doctor", "--json")
    assert ran.code == 1
    checks = {one["name"]: one for one in ran.json["checks"]}
    missing = {name for name, one in checks.items() if not one["works"]}
    assert missing == {"compiler", "unicorn", *doctor.PROGRAMS, *doctor.EXTRAS, *doctor.DRIVERS}
    assert checks["compiler"]["found"].endswith("not found on the PATH")
    assert all(checks[name]["hint"] for name in missing)
    text = command("doctor").out
    assert "compiler (cannot be run: not found on the PATH): pip install ziglang" in text
    assert "pip install 'tilewright[torch]'" in text


def test_a_program_that_does_not_run(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "verilator"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    checks = {one["name"]: one for one in command("doctor", "--json").json["checks"]}
    assert not checks["verilator"]["works"]
    assert "does not run" in checks["verilator"]["found"]


def test_every_extra_is_looked_for() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = dict(re.findall(r"^([a-z-]+) = \[([^]]*(?:\[[^]]*\][^]]*)*)\]", section, re.M))
    assert extras.keys() - OTHERS == doctor.EXTRAS.keys()
    for name, (packages, _) in doctor.EXTRAS.items():
        assert all(package == "distributed" or f'"{package}' in extras[name] for package in packages), name


@pytest.mark.parametrize("cc", ["no-such-compiler", None])
def test_the_version_names_the_compiler(command: Command, monkeypatch: pytest.MonkeyPatch, cc: str | None) -> None:
    monkeypatch.delenv("CC", raising=False)
    if cc is not None:
        monkeypatch.setenv("CC", cc)
    second = command("--version").out.splitlines()[1]
    assert second.startswith("C compiler: zig" if cc is None else "C compiler: cannot be run: not found on the PATH")

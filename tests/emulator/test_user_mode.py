"""Programs for another kind of processor: what runs them, and what is said where nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.emulator import qemu_process, user_mode
from tilewright.errors import CompileError
from tilewright.run.host import SHORT_VECTORS, Emulated, _execute
from tilewright.target.processors import PROCESSORS, RISCV, _extensions, processor_flags

pytestmark = pytest.mark.fast
OTHER = Emulated(("qemu-riscv64", "-cpu", "rv64"), "riscv64-linux-musl")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(user_mode, "version_of", lambda program, install: (7, 2))
    monkeypatch.delenv(user_mode.CHOSEN, raising=False)
    return monkeypatch


def test_the_processor_is_one_with_the_vectors_that_code_is_for(installed: pytest.MonkeyPatch) -> None:
    assert user_mode.emulator_of(RISCV, 256) == ("/usr/bin/qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0,vlen=256")
    assert user_mode.emulator_of(RISCV, 0) == ("/usr/bin/qemu-riscv64", "-cpu", "rv64")
    installed.setenv(user_mode.CHOSEN, "rv64,v=true,vlen=1024")
    assert user_mode.emulator_of(RISCV, 256) == ("/usr/bin/qemu-riscv64",)


def test_a_missing_or_old_emulator_is_named(installed: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "qemu-riscv64"
    old.write_text("#!/bin/sh\necho qemu-riscv64 version 6.2.0\n")
    old.chmod(0o755)
    installed.setattr(user_mode, "version_of", qemu_process.version_of)
    installed.setattr("shutil.which", lambda name: str(old))
    with pytest.raises(CompileError, match=r"is version 6\.2, and 7\.0 is needed.*\n.*apt install qemu-user"):
        user_mode.emulator_of(RISCV, 256)
    installed.setattr("shutil.which", lambda name: None)
    with pytest.raises(CompileError, match=r"qemu-riscv64: is not installed.*\n.*apt install qemu-user"):
        user_mode.emulator_of(RISCV, 256)


def test_what_programs_lack_is_said(tmp_path: Path) -> None:
    short = f"echo vectors have 128 bits, and the program is for at least 256 >&2; exit {SHORT_VECTORS}"
    short = f"echo a warning >&2; {short}"
    with pytest.raises(CompileError, match=r"^run: vectors have 128 bits, and the program is for at least 256"):
        _execute(["sh", "-c", short], tmp_path, OTHER)
    unknown = "echo \"qemu-riscv64: unable to find CPU model 'new'\" >&2; exit 1"
    with pytest.raises(CompileError, match=r"unable to find CPU model 'new'\n.*unset QEMU_CPU"):
        _execute(["sh", "-c", unknown], tmp_path, OTHER)
    with pytest.raises(CompileError, match="qemu-riscv64 -cpu rv64: lacks instructions"):
        _execute(["sh", "-c", "kill -ILL $$"], tmp_path, OTHER)
    with pytest.raises(CompileError, match="qemu-riscv64: fails by itself: decode: Assertion `start' failed"):
        _execute(["sh", "-c", 'echo "decode: Assertion \\`start\' failed" >&2; kill -SEGV $$'], tmp_path, OTHER)


def test_compilers_are_told_the_extensions() -> None:
    assert processor_flags("spacemit-x60", False) == ("-march=rv64gcv_zba_zbb_zbs_zvfhmin_zvl256b", "-mabi=lp64d")
    assert processor_flags("spacemit-x60", True) == ("-mcpu=baseline_rv64+v+zba+zbb+zbs+zvfhmin+zvl256b",)
    assert processor_flags("rv64gc", False) == ("-march=rv64gc", "-mabi=lp64d")
    assert PROCESSORS["k230"].needs <= _extensions("rv64imafdcv_zicbom_zba_zbb_zbs_sscofpmf")

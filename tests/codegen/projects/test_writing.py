"""A project is replaced only if nobody has changed it, and `tilewright export` says what it has done."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.codegen.projects.made import program
from tests.support.command import Command
from tests.support.models import small
from tilewright.errors import CompileError


def test_what_was_written_is_replaced(tmp_path: Path) -> None:
    place, made = tmp_path / "out", program("generic")
    first = made.export(place, "zephyr")
    assert set(first) == {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    second = made.export(place, "arduino")
    assert "library.properties" in second
    assert not (place / "Kconfig").exists()


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("app/main.c", "was written by tilewright export, but app/main.c was changed since\n  hint: choose another -o"),
        ("app/more.c", "was written by tilewright export, but holds other files: app/more.c"),
    ],
)
def test_what_somebody_has_changed_stays(tmp_path: Path, file: str, said: str) -> None:
    place, made = tmp_path / "out", program("generic")
    made.export(place, "cmake")
    (place / file).write_text("mine")
    with pytest.raises(CompileError, match=said):
        made.export(place, "cmake")
    assert (place / file).read_text() == "mine"


def test_a_folder_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CompileError, match=r"exists and holds other files: notes\.txt"):
        program("generic").export(tmp_path, "cmake")


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="--as keil: is unknown\n  hint: use cmake, zephyr"):
        program("generic").export(tmp_path / "out", "keil")
    with pytest.raises(CompileError, match="target quad: has a cluster"):
        program("quad").export(tmp_path / "out", "cmake")


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(small(), "net.onnx")
    command = Command(capsys)
    ran = command("export", "net.onnx", "--as", "cmsis-pack", "--target", "cortex-m0plus")
    assert ran.code == 0
    assert "written to net_cmsis_pack: see README.md there" in ran.out
    assert (tmp_path / "net_cmsis_pack" / "Tilewright.net.pdsc").is_file()
    assert "has no target, board or other compile options" in command("export", "net.onnx", "--target", "rv32").err
    assert "--int4" in command("export", "net.onnx", "--as", "cmake", "--int4").err


def test_a_board_has_its_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(small(), "net.onnx")
    assert command("export", "net.onnx", "--as", "cmake", "--board", "nucleo-l4r5zi", "-o", "out").code == 0
    assert "0xa0000" in (tmp_path / "out" / "link.ld").read_text()
    assert "board 'nope'" in command("export", "net.onnx", "--as", "cmake", "--board", "nope").err

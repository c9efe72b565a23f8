"""Output folders: they appear whole or not at all, and nothing foreign is touched."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest

import tilewright as tw
from tests.support.command import Command
from tests.support.models import small

pytestmark = pytest.mark.fast


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    onnx.save(small(), path)
    return path


def test_a_folder_with_other_files_is_left_alone(command: Command, network: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    ran = command("compile", network, "-o", tmp_path / "out")
    assert ran.code == 2
    assert "exists and holds other files" in ran.err
    assert "choose another -o" in ran.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("foreign", ["CMakeLists.txt", "app.c"])
def test_a_project_that_looks_like_ours_is_left_alone(
    command: Command, network: Path, tmp_path: Path, foreign: str
) -> None:
    assert command("compile", network, "-o", tmp_path / "out").code == 0
    (tmp_path / "out" / foreign).write_text("project(game)")
    ran = command("compile", network, "-o", tmp_path / "out")
    assert ran.code == 2
    assert "exists and holds other files" in ran.err
    assert foreign in ran.err
    assert (tmp_path / "out" / foreign).read_text() == "project(game)"


def test_a_link_stays_a_link(command: Command, network: Path, tmp_path: Path) -> None:
    for place in ("there", "not_there_yet"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(tmp_path / place)
        (tmp_path / "there").mkdir(exist_ok=True)
        assert command("compile", network, "-o", tmp_path / "link").code == 0
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / place / "network.h").is_file()


def test_links_in_a_circle(command: Command, network: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "link")
    ran = command("compile", network, "-o", tmp_path / "link")
    assert ran.code == 2
    assert "cannot be written" in ran.err


@pytest.mark.parametrize("folder", [".", "..", "../inner"])
def test_the_folder_one_is_in(
    command: Command, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "outer" / "inner")
    ran = command("compile", network, "-o", folder)
    assert ran.code == 2
    assert "choose another -o" in ran.err
    assert [path.name for path in (tmp_path / "outer").rglob("*")] == ["inner"]


def test_a_file_in_the_way(command: Command, network: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    ran = command("compile", network, "-o", tmp_path / "out")
    assert ran.code == 2
    assert "exists and is not a folder" in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder(command: Command, network: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    ran = command("compile", network, "-o", tmp_path / "closed" / "out")
    assert ran.code == 2
    assert "cannot be written: Permission denied" in ran.err


def test_a_folder_that_cannot_be(command: Command, network: Path) -> None:
    ran = command("compile", network, "-o", "/proc/nowhere/out")
    assert ran.code == 2
    assert "/proc/nowhere/out" in ran.err
    assert "cannot be written" in ran.err


def test_an_onnx_that_cannot_be_written(command: Command, network: Path, tmp_path: Path) -> None:
    ran = command("analyze", network, "--onnx", tmp_path / "nowhere" / "x.onnx")
    assert ran.code == 2
    assert "cannot be written: No such file or directory" in ran.err


def test_our_own_folder_is_replaced(command: Command, network: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        assert command("compile", network, "-o", tmp_path / "out", "--name", name).code == 0
    assert "second_run" in (tmp_path / "out" / "network.h").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.onnx", "out"]


def test_an_interruption_while_writing_leaves_nothing(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, write = tw.compile(network), Path.write_text

    def interrupted(path: Path, text: str, **named: str) -> int:
        if path.name == "network.c":
            raise KeyboardInterrupt
        return write(path, text, **named)

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        program.save(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]

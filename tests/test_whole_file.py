"""Files are there whole or not at all, and what is no file is written to as it is."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tilewright.errors import CompileError
from tilewright.whole_file import write_whole, written_whole

pytestmark = pytest.mark.fast


def test_what_was_there_stays_until_all_is_written(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    write_whole(place, "old", "-o")
    refused = pytest.raises(CompileError, match="cannot be written: disk full\n  hint: choose another -o")
    with refused, written_whole(place, "-o") as file:
        file.write(b"new")
        raise OSError(28, "disk full")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", "text", "-o")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "text"


def test_a_pipe_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said: list[bytes] = []
    reader = threading.Thread(target=lambda: said.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, "text", "-o")
    reader.join()
    assert said == [b"text"]
    assert pipe.is_fifo()


def test_what_may_not_be_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "file"
    place.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # an administrator may write to any file
    with pytest.raises(CompileError, match="cannot be written: it is read-only\n  hint: choose another -o"):
        write_whole(place, "new", "-o")
    assert place.read_text() == "old"


def test_links_to_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")
    with pytest.raises(CompileError, match=r"cannot be written: .* symbolic links"):
        write_whole(tmp_path / "one", "text", "-o")


def test_permissions_stay(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("old")
    place.chmod(0o600)
    write_whole(place, "new", "-o")
    assert place.stat().st_mode & 0o777 == 0o600

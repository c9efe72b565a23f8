"""What is given to the wrong command, or is no model, leads to the right one."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from tests.support.command import Command

pytestmark = pytest.mark.fast


def archive(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(f"{path.stem}/{name}", "")
    return path


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (("data.pkl", "version"), "holds weights or a pickled module, not a graph"),
        (("data.pkl", "constants.pkl", "code/part.py"), "holds a TorchScript module, not a graph"),
    ],
)
@pytest.mark.parametrize("file", ["net.pt", "net.pth"])
def test_a_pickle_is_named_before_pytorch_is_asked_for(
    command: Command, tmp_path: Path, names: tuple[str, ...], what: str, file: str
) -> None:
    ran = command("run", archive(tmp_path / file, *names), "--json")
    assert ran.code == 2
    assert ran.json["error"]["what"] == what
    assert "torch.export.save" in ran.json["error"]["hint"]


def test_an_old_pickle_and_a_missing_one(command: Command, tmp_path: Path) -> None:
    (tmp_path / "old.pt").write_bytes(b"\x80\x02}q\x00.")
    assert command("run", tmp_path / "old.pt", "--json").json["error"]["what"].startswith("holds weights")
    assert command("run", tmp_path / "none.pt", "--json").json["error"]["what"].startswith("cannot be read: No such")


@pytest.mark.parametrize("what", ["run", "analyze", "compile"])
def test_a_language_model_leads_to_generate(command: Command, tmp_path: Path, what: str) -> None:
    folder = tmp_path / "llama"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    error = command(what, folder, "--json").json["error"]
    assert error["what"] == "is the folder of a language model, no graph"
    assert error["hint"] == f'tilewright generate {folder} "Once upon a time"'


def test_another_folder_is_no_model(command: Command, tmp_path: Path) -> None:
    assert command("run", tmp_path, "--json").json["error"]["what"] == "is a folder, not a model"


def test_a_page_where_nothing_can_be_written(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "results.json").write_text("{}")
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path / "closed")
    (tmp_path / "closed").mkdir()
    ran = command("report", tmp_path / "study", "-o", tmp_path / "closed" / "page.html", "--json")
    assert ran.code == 2
    assert "cannot be written" in ran.json["error"]["what"]
    assert ran.json["error"]["what"].endswith("closed is not writable")

"""Built models in the cache folder: whole, or made anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright.language import kept_models

pytestmark = pytest.mark.fast
KEY, SAID = "0123", {"name": "small", "ends": [1, 2]}


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    monkeypatch.delenv(kept_models.VARIABLE, raising=False)
    return tmp_path / kept_models.FOLDER / KEY


def build(folder: Path) -> None:
    (folder / "model.so").write_bytes(b"library")
    (folder / "small.weights").write_bytes(b"weights")


def make() -> Path:
    return kept_models.make(KEY, SAID, build).folder


def test_what_was_made_is_found(folder: Path) -> None:
    assert kept_models.find(KEY) is None
    assert make() == folder
    assert kept_models.find(KEY) == (folder, SAID)
    assert make() == folder


DAMAGES: dict[str, Callable[[Path], object]] = {
    "library cut off": lambda folder: (folder / "model.so").write_bytes(b"lib"),
    "weights cut off": lambda folder: (folder / "small.weights").write_bytes(b""),
    "library gone": lambda folder: (folder / "model.so").unlink(),
    "nothing said": lambda folder: (folder / "summary.json").unlink(),
    "half of it said": lambda folder: (folder / "summary.json").write_text('{"model": {"na'),
    "something else said": lambda folder: (folder / "summary.json").write_text("[1]"),
    "less said": lambda folder: (folder / "summary.json").write_text("{}"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_made_anew(damage: str, folder: Path) -> None:
    make()
    DAMAGES[damage](folder)
    assert kept_models.find(KEY) is None
    assert make() == folder
    assert kept_models.find(KEY) == (folder, SAID)
    assert sorted(one.name for one in folder.parent.iterdir()) == [KEY]


def test_where_nothing_may_be_kept_the_folder_ends_with_its_user(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv(kept_models.VARIABLE, "0")
    made = kept_models.make(KEY, SAID, build)
    assert made.draft is not None
    assert made.folder != folder
    assert (made.folder / "model.so").is_file()
    made.draft.cleanup()
    assert kept_models.find(KEY) is None

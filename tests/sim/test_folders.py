"""Where the virtual SoC's files lie: its face lists the folders, and C names the folder of whatever it includes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewright import sim
from tilewright.sim.library import FOLDER, GUARD

pytestmark = pytest.mark.fast

C_FILES = sorted(path for path in FOLDER.rglob("*.*") if path.suffix in (".c", ".h", ".def") and path != GUARD)


def test_the_face_lists_every_folder() -> None:
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert set(re.findall(r"^\* `(\w+)/`", sim.__doc__ or "", re.MULTILINE)) == folders


def test_no_c_lies_beside_the_folders() -> None:
    assert [path.name for path in C_FILES if path.parent == FOLDER] == []


@pytest.mark.parametrize("path", C_FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_an_include_names_its_folder(path: Path) -> None:
    named = re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE)
    assert [name for name in named if "/" not in name or not (FOLDER / name).is_file()] == []

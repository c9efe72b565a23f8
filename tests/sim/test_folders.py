"""Where the virtual SoC's files lie: its face lists the folders, and C names the folder of whatever it includes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewright import sim
from tilewright.sim.library import FOLDER, GUARD
from tilewright.sim.platforms import PLATFORMS

pytestmark = pytest.mark.fast

C_FILES = sorted(path for path in FOLDER.rglob("*.*") if path.suffix in (".c", ".h", ".def") and path != GUARD)


def test_the_face_lists_every_folder() -> None:
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert set(re.findall(r"^\* `(\w+)/`", sim.__doc__ or "", re.MULTILINE)) == folders


def test_no_c_lies_beside_the_folders() -> None:
    assert [path.name for path in C_FILES if path.parent == FOLDER] == []


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("path", C_FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_an_include_names_its_folder(path: Path) -> None:
    assert [name for name in included(path) if "/" not in name or not (FOLDER / name).is_file()] == []


CHIPS = {"cv32e40p", "snitch", "mempool", "neureka", "ita", *PLATFORMS}
OF_CHIPS = {"pulp", "ri5cy", "xdma", "mchan", "hyper"}
"""Families, cores and engines that have no folder of their own."""


@pytest.mark.parametrize("path", sorted((FOLDER / "engine").iterdir()), ids=lambda path: path.name)
def test_the_engine_names_no_chip(path: Path) -> None:
    """Chips give it what they have by tables of hooks, `core_kind` and `device_type`."""
    words = set(re.findall(r"[a-z0-9]+", path.read_text().lower()))
    assert words & (CHIPS | OF_CHIPS) == set()
    assert set(included(path)) <= {"kinds/misuse.h", *(f"engine/{other.name}" for other in path.parent.iterdir())}


def included(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE)


def needs() -> dict[str, set[str]]:
    """Where a header and its source count as one file: what a header declares may need what its source includes."""
    found: dict[str, set[str]] = {}
    for path in C_FILES:
        unit = path.relative_to(FOLDER).with_suffix("").as_posix()
        found.setdefault(unit, set()).update(Path(name).with_suffix("").as_posix() for name in included(path))
    return found


def test_no_file_needs_itself_by_way_of_another_folder() -> None:
    direct = needs()
    reached = {unit: set(others) for unit, others in direct.items()}
    for _ in direct:
        reached = {unit: others.union(*(direct[other] for other in others)) for unit, others in reached.items()}
    circles = {(a, b) for a, others in reached.items() for b in others if a in reached[b]}
    assert {(a, b) for a, b in circles if Path(a).parent != Path(b).parent} == set()

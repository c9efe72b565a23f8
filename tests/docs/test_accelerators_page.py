"""The page on accelerators shows what its commands print. `TILEWRIGHT_UPDATE_GOLDEN=1 pytest tests/docs` writes it
anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Section, sections
from tilewright.sim import library

PAGE = ROOT / "docs" / "accelerators.md"


@pytest.fixture(scope="module", autouse=True)
def simulator() -> None:
    library.load()


@pytest.mark.parametrize("section", sections(PAGE), ids=lambda section: section.title)
def test_commands_print_what_the_page_shows(section: Section, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    now = section.run(folder)
    if os.environ.get("TILEWRIGHT_UPDATE_GOLDEN"):
        PAGE.write_text(PAGE.read_text().replace(section.text, now))
        return
    assert now == section.text

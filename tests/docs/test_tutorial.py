"""The tutorial shows what its commands print. `TILEWRIGHT_UPDATE_GOLDEN=1 pytest tests/docs` writes it anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Section, sections
from tilewright.sim import library

TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.fixture(scope="module", autouse=True)
def simulator() -> None:
    """Built before the pages are run: whoever comes first is told that it is being built, and no page shows that."""
    library.load()


@pytest.mark.parametrize("section", sections(TUTORIAL), ids=lambda section: section.title)
def test_commands_print_what_the_tutorial_shows(section: Section, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    now = section.run(folder)
    if os.environ.get("TILEWRIGHT_UPDATE_GOLDEN"):
        TUTORIAL.write_text(TUTORIAL.read_text().replace(section.text, now))
        return
    assert now == section.text

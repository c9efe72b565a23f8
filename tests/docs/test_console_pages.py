"""Pages show what their commands print. `TILEWRIGHT_UPDATE_GOLDEN=1 pytest tests/docs` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Section, sections
from tilewright.emulator import counting
from tilewright.sim import library

PAGES = [ROOT / "docs" / f"{name}.md" for name in ("tutorial", "profile", "accelerators", "explore")]
SECTIONS = [pytest.param(page, one, id=f"{page.stem}: {one.title}") for page in PAGES for one in sections(page)]


@pytest.fixture(scope="module", autouse=True)
def simulators() -> None:
    """Built before the pages are run: whoever comes first is told that they are being built, and no page shows that."""
    library.load()
    counting.load()


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(("page", "section"), SECTIONS)
def test_commands_print_what_the_page_shows(page: Path, section: Section, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    now = section.run(folder)
    if os.environ.get("TILEWRIGHT_UPDATE_GOLDEN"):
        page.write_text(page.read_text().replace(section.text, now))
        return
    assert now == section.text

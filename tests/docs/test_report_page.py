"""The page about reports: its commands print what it says, and it names every picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, sections
from tests.support.reported import page, study
from tilewright.report.page.study_page import study_page

PAGE = ROOT / "docs" / "report.md"


@pytest.mark.in_turns(8)
def test_the_page_prints_what_it_says(tmp_path: Path) -> None:
    (section,) = sections(PAGE)
    assert section.run(tmp_path) == section.text
    for name in ("kws.html", "study.html"):
        assert (tmp_path / name).stat().st_size > 1_000_000


def test_every_picture_is_named() -> None:
    said = PAGE.read_text()
    for section in (*page().sections, *study_page(study()).sections):
        assert section.name.startswith("memory-") or f"| {section.title} |" in said

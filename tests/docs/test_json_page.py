"""docs/json.md has the keys of the schemas; `TILEWRIGHT_UPDATE_GOLDEN=1` writes its tables again."""

from __future__ import annotations

import os
import re

import pytest

from tests.docs.json_page import tables
from tests.docs.pages import ROOT

pytestmark = pytest.mark.fast

PAGE = ROOT / "docs" / "json.md"
MARK = "<!-- generated from src/tilewright/cli/schemas -->\n\n"


def test_the_page_has_the_keys_of_the_schemas() -> None:
    written, mark, had = PAGE.read_text().partition(MARK)
    assert mark
    if "TILEWRIGHT_UPDATE_GOLDEN" in os.environ:
        PAGE.write_text(f"{written}{MARK}{tables()}\n")
    else:
        assert had == f"{tables()}\n"


def test_figures_of_memory_that_pages_name_are_keys() -> None:
    """No page speaks of a figure that no command prints."""
    known = set(re.findall(r"`[\w.*\[\]]*?(\w+_bytes)`", tables()))
    for page in sorted((ROOT / "docs").glob("*.md")):
        named = set(
            re.findall(r"`((?:planned|measured|constant|reserved|arena|io|peak|flash|ram)\w*_bytes)`", page.read_text())
        )
        assert named <= known, page.name

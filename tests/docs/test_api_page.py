"""docs/api.md has the public names as they are; `TILEWRIGHT_UPDATE_GOLDEN=1` writes it again."""

from __future__ import annotations

import os
import re

import pytest

import tilewright as tw
from tests.docs.api_page import page
from tests.docs.pages import ROOT
from tilewright.target.settings import OPTIONS

pytestmark = pytest.mark.fast

PAGE = ROOT / "docs" / "api.md"
MARK = "<!-- generated from the package -->\n\n"


def test_the_page_is_as_the_package() -> None:
    written, mark, had = PAGE.read_text().partition(MARK)
    assert mark
    if "TILEWRIGHT_UPDATE_GOLDEN" in os.environ:
        PAGE.write_text(f"{written}{MARK}{page()}\n")
    else:
        assert had == f"{page()}\n"


def test_every_public_name_and_option_is_there_and_described() -> None:
    text = page()
    assert set(re.findall(r"^### tw\.(\w+)", text, flags=re.MULTILINE)) == set(tw.__all__)
    for name, one in OPTIONS.items():
        assert (f"| `{name}` |" in text) == bool(one.flag)
    for name in ("compile", "analyze", "explore", "train", "write_report"):
        assert getattr(tw, name).__doc__

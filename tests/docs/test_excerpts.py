"""Pages show C that the compiler writes today; `...` stands for lines that are left out."""

from __future__ import annotations

import re
import runpy

import pytest

import tilewright as tw
from tests.docs.pages import ROOT
from tilewright.target.settings import Settings

NETWORK = ROOT / "examples" / "keyword_spotting.py"
BLOCK = re.compile(r"```c\n(.*?)```", re.DOTALL)
LEFT_OUT = "..."


def follow_each_other(excerpt: str, text: str) -> bool:
    """Whether the parts of an excerpt are in a text, in their order."""
    at = 0
    for part in re.split(rf"^ *{re.escape(LEFT_OUT)}\n", excerpt, flags=re.MULTILINE):
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


@pytest.mark.parametrize(
    ("page", "target", "settings"),
    [("README.md", "generic", Settings()), ("docs/siracusa.md", "siracusa", Settings(engines=("cluster",), l1=16000))],
)
def test_c_of_a_page_is_what_is_written(page: str, target: str, settings: Settings) -> None:
    (excerpt,) = BLOCK.findall((ROOT / page).read_text())
    model = runpy.run_path(str(NETWORK))["build"]()
    program = tw.compile(model, target=target, name="kws", settings=settings)
    assert follow_each_other(excerpt, program.files["network.c"])


@pytest.mark.fast
def test_excerpts_have_an_order() -> None:
    text = "one\ntwo\nthree\nfour\n"
    assert follow_each_other("one\n...\nthree\n  ...\n", text)
    assert not follow_each_other("three\n...\none\n", text)
    assert not follow_each_other("one\nthree\n", text)

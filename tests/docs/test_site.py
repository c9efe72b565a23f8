"""The site: every page of `docs/` has a place in it, and what is made from the code says what the code says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scripts.site import commands, matrix
from scripts.site.errors import Refusal, _entry, example_of, refusals

from tests.docs.pages import ROOT
from tests.support.chromium import browser as browser
from tilewright.cli.parser import COMMANDS

NAV = re.compile(r"[\w/]+\.md$", re.M)
FETCHED = re.compile(r"""<(?:script|link|img|iframe)[^>]*?(?:src|href)=["']?https?://""")
"""What a page would ask a server for."""


@pytest.mark.fast
def test_every_page_that_is_named_is_there() -> None:
    named = set(NAV.findall((ROOT / "mkdocs.yml").read_text()))
    made = set(re.findall(r'"(reference/\w+\.md)"', (ROOT / "scripts" / "site" / "hooks.py").read_text()))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} >= {one for one in named if "/" not in one}
    assert {one for one in named if "/" in one} == made


@pytest.mark.fast
def test_every_command_is_there() -> None:
    text = commands.page()
    found = set(re.findall(r"^## tilewright ([\w-]+)$", text, re.M))
    assert found >= COMMANDS.keys()
    assert "## tilewright accelerator area\n" in text
    assert "| `--target TARGET` |" in text
    assert "| `--max-cycles N` |" in text


def test_the_matrix_says_what_kernels_take() -> None:
    rows = {line.split(" | ")[0]: line for line in matrix.page().splitlines() if line.startswith("| `")}
    assert rows["| `MatMul`"].count("i8") >= 1
    assert "f32" in rows["| `Acos`"]
    assert "i8" not in rows["| `Acos`"]


@pytest.mark.fast
def test_messages_are_read_from_the_code(tmp_path: Path) -> None:
    found = {one.title: one for one in refusals()}
    unknown = next(one for title, one in found.items() if title == "yosys: is not installed")
    assert unknown.module == "accelerator.area"
    assert "apt-get install yosys" in unknown.hint
    assert len(found) > 1300
    without = [one.title for one in refusals() if "* What to do: " not in _entry(one)]
    assert len(without) < 40, without
    damaged = Refusal("…", "has no Verilog to synthesise, …", "", "m")
    assert example_of(damaged) == ""


@pytest.mark.fast
def test_names_in_messages_stand_in_place_of_their_values() -> None:
    shape = next(one for one in refusals() if one.module == "ops.expand" and "to expand to" in one.what)
    assert (shape.where, shape.what) == ("", "the shape ‹wanted› to expand to is missing or negative")
    gap = next(one for one in refusals() if one.what == "'‹word›' is not NAME=NUMBER")
    assert example_of(gap) == "'cycles_per_mac=fast' is not NAME=NUMBER"


@pytest.mark.in_turns(3)
def test_it_is_built_read_and_searched(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Once for all that is to be seen: building takes as long as many tests."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    site = built(tmp_path / "site")
    it_is_whole(site)
    links_and_contents_are_for_readers(site)
    browser = request.getfixturevalue("browser")
    for width in (1280, 390):
        it_is_searched_from_its_folder(site, browser, width)


def built(place: Path) -> Path:
    """With one report of the gallery."""
    words = ["build", "--strict", "--quiet", "--site-dir", str(place)]
    settings = os.environ | {"TILEWRIGHT_SITE_REPORTS": "1"}
    command = [sys.executable, "-m", "mkdocs", *words]
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


def it_is_whole(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    said = "\n".join(f"{one['title']} {one['text']}" for one in index["docs"])
    for words in ("zero point", "arena", "has no Verilog to synthesise"):
        assert words in said
    assert (site / "search" / "search_index.js").is_file(), "search works without a server"
    assert (site / "reference" / "kws_rv32.html").stat().st_size > 100_000
    pages = [path for path in site.rglob("*.html") if not path.name.startswith("kws_")]
    assert len(pages) > 50
    assert [path.name for path in pages if FETCHED.search(path.read_text(encoding="utf-8"))] == []


def links_and_contents_are_for_readers(site: Path) -> None:
    page = (site / "cortex_m.html").read_text(encoding="utf-8")
    assert re.search(r'<a href="cortex_m_boards.html">[^<]*</a>', page)
    assert not re.search(r">[\w/]+\.md</a>", page), "a link has its page's title, not the name of its file"
    assert '<code class="short">--board nucleo-l4r5zi</code>' in page, "an option stays in one piece"
    assert "--md-typeset-a-color" in (site / "assets" / "site.css").read_text(encoding="utf-8")
    errors = (site / "reference" / "errors.html").read_text(encoding="utf-8")
    assert errors.count('class="md-nav__link"') < 200, "contents of a thousand messages are no help"


FOUND = (
    ("zero point", "glossary.html"), ("arena", "glossary.html"),
    ("has no Verilog to synthesise", "reference/errors.html"), ("network_data", ".html"),
)  # fmt: skip
"""Words, and the page that stands first."""
WAIT = 120_000
"""Milliseconds; nothing is timed here."""


def it_is_searched_from_its_folder(site: Path, browser: Any, width: int) -> None:
    """Without a server, at the width of a desk and of a telephone."""
    view = browser.new_context(viewport={"width": width, "height": 800}, offline=True).new_page()
    said: list[str] = []
    view.on("console", lambda message: said.append(message.text))
    view.on("pageerror", lambda error: said.append(str(error)))
    for words, first in FOUND:
        view.goto((site / "index.html").as_uri())
        if width < 1000:
            view.locator("label.md-header__button[for=__search]").click()
        field = view.locator("input.md-search__input")
        field.fill(words[:-1])
        # A key starts the search.
        field.press_sequentially(words[-1], timeout=WAIT)
        view.wait_for_function(
            """([words, page]) => document.querySelector("input.md-search__input").value === words &&
               document.querySelector(".md-search-result__link")?.href.includes(page)""",
            arg=[words, first],
            timeout=WAIT,
        )
        assert view.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []

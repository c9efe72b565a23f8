"""The site: every page of `docs/` has a place in it, and what is made from the code says what the code says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.site import commands, matrix
from scripts.site.errors import Refusal, example_of, refusals

from tests.docs.pages import ROOT
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
    assert "| `--target` |" in text
    assert "| `--max-cycles` |" in text


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
    assert len(found) > 800
    damaged = Refusal("…", "has no Verilog to synthesise, …", "", "m", "")
    assert example_of(damaged) == ""


@pytest.mark.in_turns(5)
def test_it_is_built_strictly_and_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    monkeypatch.setenv("TILEWRIGHT_SITE_REPORTS", "1")
    place = tmp_path / "site"
    words = ["build", "--strict", "--quiet", "--site-dir", str(place)]
    done = subprocess.run([sys.executable, "-m", "mkdocs", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    index = json.loads((place / "search" / "search_index.json").read_text())
    said = "\n".join(f"{one['title']} {one['text']}" for one in index["docs"])
    for words_searched in ("zero point", "arena", "has no Verilog to synthesise"):
        assert words_searched in said
    assert (place / "search" / "search_index.js").is_file(), "search works without a server"
    assert (place / "reference" / "kws_rv32.html").stat().st_size > 100_000
    pages = [path for path in place.rglob("*.html") if not path.name.startswith("kws_")]
    assert len(pages) > 50
    assert [path.name for path in pages if FETCHED.search(path.read_text(encoding="utf-8"))] == []

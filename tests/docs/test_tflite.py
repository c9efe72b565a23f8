"""The page on TensorFlow Lite shows what its commands print, its Python runs, it lists the operators that are read."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from tests.docs.pages import ROOT, Section, sections
from tests.support.tflite_cases import network
from tilewright.frontends.tflite.arithmetic import KNOWN
from tilewright.frontends.tflite.operators import RULES
from tilewright.sim import library

PAGE = ROOT / "docs" / "tflite.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the model that the page speaks of."""
    made = tmp_path / "empty"
    made.mkdir()
    (made / "model.tflite").write_bytes(network(np.random.default_rng(5)))
    return made


@pytest.mark.parametrize("section", sections(PAGE), ids=lambda section: section.title)
def test_commands_print_what_the_page_shows(section: Section, folder: Path) -> None:
    now = section.run(folder)
    if os.environ.get("TILEWRIGHT_UPDATE_GOLDEN"):
        PAGE.write_text(PAGE.read_text().replace(section.text, now))
        return
    assert now == section.text


def test_its_python_runs(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    library.load()
    monkeypatch.chdir(folder)
    for block in re.findall("```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), {})
    shares = capsys.readouterr().out
    assert re.match(r"\[\[( *-?\d+){4}\]\] \d+\n", shares)


@pytest.mark.fast
def test_it_lists_the_operators_and_the_runtimes() -> None:
    text = PAGE.read_text()
    listed = text.partition("## Operators\n")[2].split("\n\n")[0].split()
    assert sorted(listed) == sorted(RULES)
    assert re.findall(r"^\| `(\w+)`", text, flags=re.MULTILINE) == [one.name for one in KNOWN]

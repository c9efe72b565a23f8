"""The page about states: its Python is run as it stands."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT


def test_the_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "states.md").read_text(), flags=re.DOTALL)
    exec(compile(code, "docs/states.md", "exec"), {})
    assert capsys.readouterr().out == "[1 2 3]\n"

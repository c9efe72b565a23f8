"""The page about quantising: its Python is run as it stands, and its options are those of the command."""

from __future__ import annotations

import inspect
import re

import pytest

from tests.docs.pages import ROOT
from tilewright.cli.compile import compile_command
from tilewright.cli.groups import grouped
from tilewright.cli.quantise import quantise

PAGE = (ROOT / "docs" / "quantising.md").read_text()


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    found: dict[str, object] = {}
    exec(compile(code, "docs/quantising.md", "exec"), found)
    printed = capsys.readouterr().out
    assert "dB at the output, top-1 as in floats on" in printed
    for layer in ("first", "second", "pool", "classes"):
        assert re.search(rf"^{layer} .* dB", printed, flags=re.MULTILINE)
    for name in re.findall(r"`report\.(\w+)`", PAGE):
        assert hasattr(found["report"], name)


def test_options_of_the_page_are_those_of_the_command() -> None:
    parameters = [name for one in (quantise, compile_command) for name in inspect.signature(grouped(one)).parameters]
    known = {f"--{name.replace('_', '-')}" for name in parameters} | {"--json", "--int4"}
    assert set(re.findall(r"--[a-z][a-z0-9-]+", PAGE)) <= known

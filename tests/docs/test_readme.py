"""What the README shows is what its commands print. Times differ from run to run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, TIME, printed_by

README = (ROOT / "README.md").read_text(encoding="utf-8")
BUILD = "python examples/keyword_spotting.py build/kws.onnx"
DEMO = (BUILD, "tilewright run build/kws.onnx", "tilewright compile build/kws.onnx -o build/kws | tail -n 1")
CLUSTER = "tilewright run build/kws.onnx --target siracusa --l1 64000"


def block_with(phrase: str) -> list[str]:
    """Lines of the one block of the README that has a phrase."""
    (block,) = (block for block in re.findall(r"^```\w*\n(.*?)^```\n", README, re.M | re.S) if phrase in block)
    return [TIME.sub("...", line).rstrip() for line in block.splitlines()]


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(
    ("commands", "phrase"),
    [
        pytest.param(DEMO, "kws on generic", id="scripts/demo"),
        pytest.param((BUILD, CLUSTER), "cycles predicted", id="a cluster"),
    ],
)
def test_a_block_is_the_end_of_what_its_command_prints(commands: tuple[str, ...], phrase: str, tmp_path: Path) -> None:
    printed = "".join(printed_by(commands, tmp_path / "empty")).splitlines()
    shown = block_with(phrase)
    assert printed[-len(shown) :] == shown


@pytest.mark.in_turns(10)
def test_cycles_of_the_cores_alone(tmp_path: Path) -> None:
    _, printed = printed_by((BUILD, f"{CLUSTER} --engines cluster"), tmp_path / "empty")
    found = re.search(r"agrees with the reference; ([\d,]+ cycles)", printed)
    assert found
    assert f"`--engines cluster` uses the cores alone: {found[1]}." in README


@pytest.mark.fast
def test_the_demo_runs_what_is_tested_here() -> None:
    script = (ROOT / "scripts" / "demo").read_text(encoding="utf-8")
    for command in DEMO:
        words = command.replace("python ", ".venv/bin/python ").replace("tilewright ", ".venv/bin/tilewright ")
        assert words.replace("run build/kws.onnx", 'run build/kws.onnx "$@"') in script

"""A refusal says what to try: where one is made, a hint is given with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright
from tests.support.command import Command
from tests.support.models import model, node
from tilewright.errors import CompileError
from tilewright.sim.platforms import find_platform

ROOT = Path(tilewright.__file__).parent


def has_hint(call: ast.Call) -> bool:
    given = [*call.args, *(word for word in call.keywords if word.arg in (None, "hint"))]
    return len(given) > 2 or any(isinstance(one, ast.Starred | ast.keyword) for one in given)


def is_refusal(made: ast.expr) -> bool:
    return isinstance(made, ast.Name) and made.id == "CompileError"


def without_hint() -> Iterator[str]:
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text()
        if "CompileError(" not in text:
            continue
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and is_refusal(call.func) and not has_hint(call):
                yield f"{path.relative_to(ROOT)}:{call.lineno}: {ast.unparse(call)}"


def test_every_refusal_has_one() -> None:
    assert list(without_hint()) == []


CALLS = [("CompileError('x', 'y')", False), ("CompileError('x', 'y', hint='z')", True)]


@pytest.mark.fast
@pytest.mark.parametrize(("text", "found"), CALLS)
def test_how_that_is_seen(text: str, found: bool) -> None:
    (call,) = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    assert has_hint(call) is found


@pytest.mark.fast
def test_bytes_outside_of_all_memories() -> None:
    error = find_platform("quad").outside(0x44, 8)
    assert isinstance(error, CompileError)
    assert str(error).startswith("0x44: 8 bytes there are not in one memory of quad\n  hint: there are tcdm 0x")


@pytest.mark.fast
def test_a_refusal_without_a_hint_gets_that_of_its_reader(command: Command, tmp_path: Path) -> None:
    """Said once for all nodes that it is for."""
    weights = {name: np.ones((4, channels, 3, 3), np.float32) for name, channels in (("three", 3), ("five", 5))}
    nodes = [node("Conv", f"x {name}", f"y_{name}", name=name) for name in weights]
    onnx.save(model(nodes, {"x": (1, 2, 8, 8)}, ["y_three", "y_five"], weights), tmp_path / "wrong.onnx")
    said = command("analyze", tmp_path / "wrong.onnx").err
    assert said.count("X has 2 channels") == 2
    assert said.count("write the layer otherwise") == 1
    assert command("analyze", tmp_path / "wrong.onnx", "--json").json["errors"][0]["hint"]

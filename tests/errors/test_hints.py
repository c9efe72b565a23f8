"""A refusal says what to try: where one is made, a hint is given with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilewright
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
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and is_refusal(node.func) and not has_hint(node):
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"


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

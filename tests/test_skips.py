"""Every reason for which a test may be skipped is defended by one line, and there are few lines."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.skips import DEFENCES, LIMIT, SWITCH, UNDEFENDED, defence, faults, table

ROOT = Path(__file__).parents[1]
NO_REASON = "could not import"
"""What a package that is a parameter gives: the names are those of other tests."""

pytestmark = pytest.mark.fast


def calls(path: Path) -> Iterator[tuple[str, ast.expr]]:
    """Calls that skip, with the expression of their reason."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = ast.unparse(node.func).rpartition("pytest.")[2] if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in ("skip", "importorskip", "mark.skip", "mark.skipif"):
            reasons = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
            yield name, (reasons or node.args)[0]


def reason(path: Path, name: str, node: ast.expr) -> str:
    """As pytest would print it, as far as the text of the test says; what is only known in a run is left out."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "clang" for part in node.values]
        return "".join(map(str, parts))
    if isinstance(node, ast.Constant):
        is_package = name == "importorskip" and re.fullmatch(r"[\w.]+", node.value)
        return f"could not import '{node.value}'" if is_package else str(node.value)
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    try:
        names = vars(importlib.import_module(module))
    except pytest.skip.Exception as skipped:  # of the whole module, which would skip this test, too
        return str(skipped)
    known = isinstance(node, ast.Call) or ast.unparse(node) in names
    return str(eval(ast.unparse(node), dict(names))) if known else NO_REASON


@cache
def reasons() -> tuple[str, ...]:
    paths = [path for path in sorted((ROOT / "tests").rglob("*.py")) if path.name != Path(__file__).name]
    skipping = [path for path in paths if re.search(r"skip\(|skipif\(", path.read_text(encoding="utf-8"))]
    return tuple(reason(path, name, node) for path in skipping for name, node in calls(path))


def test_every_reason_is_defended() -> None:
    found = [one for one in reasons() if one and one != NO_REASON]
    assert len(found) > 80
    assert [one for one in found if defence(one) == UNDEFENDED] == []


def test_every_defence_is_of_a_reason() -> None:
    used = {defence(one) for one in reasons()}
    assert [one.name for one in DEFENCES if one.name not in used] == []
    assert len(DEFENCES) <= LIMIT
    assert len({one.name for one in DEFENCES}) == len(DEFENCES)


def skipped(*reasons: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(longrepr=("test_x.py", 3, f"Skipped: {one}")) for one in reasons]


def test_too_many_skips_are_a_fault_unless_the_machine_cannot_have_what_they_need() -> None:
    torch, apt = "could not import 'torch': No module named 'torch'", "qemu-system-arm is not installed"
    assert faults(skipped(*[torch] * LIMIT, *[apt] * 100)) == []
    (fault,) = faults(skipped(*[torch] * (LIMIT + 1), apt))
    assert fault.startswith(f"{LIMIT + 1} tests are skipped")


def test_the_table() -> None:
    skips = ["could not import 'torch': No module named 'torch'"] * 2 + ["it is Monday"]
    lines = list(table(skipped(*skips)))
    assert lines[0].startswith("frameworks: ")
    assert lines[1] == f"     2 {skips[0]}"
    assert lines[2].startswith(f"{UNDEFENDED}: ")
    assert lines[3] == "     1 it is Monday"


CONFTEST = "from tests.conftest import pytest_sessionfinish, pytest_terminal_summary"
TESTS = "import pytest\ndef test_one(): pytest.skip('it is Monday')\ndef test_two(): pass"


def test_what_nobody_defends_fails_in_ci(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_days.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, env=os.environ | {SWITCH: "1"}, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "skipped, by reason" in ran.stdout
    assert "nobody defends: it is Monday" in ran.stdout
    assert f"{UNDEFENDED}: add a line to tests/support/skips.py, or run them\n     1 it is Monday" in ran.stdout

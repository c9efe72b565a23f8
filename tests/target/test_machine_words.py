"""Generic code asks a machine for what it has: not which kind it is, and not for memories by the names of one chip."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilewright

SOURCES = Path(tilewright.__file__).parent
CHOSEN_ONCE = {"planner/planners.py", "target/settings.py", "target/target.py"}
"""Where a planner is chosen, and options are declared with the machines that have them."""
GENERIC = ("planner", "codegen", "profiling", "memory", "tiling")
OF_OPTIONS = {"l1", "l2", "code_in_l1"}
"""Fields of settings, which are called like the options."""
CHIP = re.compile(r"(?i)(^|_)l[123](_|$)|L[123][A-Z]")

pytestmark = pytest.mark.fast


def names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


@pytest.mark.in_turns(4)
def test_nobody_else_asks_whether_layers_are_tiled() -> None:
    files = [path for path in SOURCES.rglob("*.py") if "targets" not in path.relative_to(SOURCES).parts]
    asking = {path.relative_to(SOURCES).as_posix() for path in files if "is_tiled" in names(path)}
    assert asking == CHOSEN_ONCE


def test_no_generic_name_is_that_of_a_memory_of_one_chip() -> None:
    files = [path for folder in GENERIC for path in (SOURCES / folder).rglob("*.py")]
    found = {(path.name, name) for path in files for name in (path.stem, *names(path)) if CHIP.search(name)}
    assert {one for one in found if one[1] not in OF_OPTIONS} == set()

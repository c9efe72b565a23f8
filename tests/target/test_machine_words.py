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
WORD = re.compile(r"\w+")
IS_TILED = re.compile(r"^is_tiled$")
CHIP = re.compile(r"(?i)(^|_)l[123](_|$)|L[123][A-Z]")
PARTS = {IS_TILED: re.compile("is_tiled"), CHIP: re.compile("[lL][123]")}
"""What is in every word that a pattern finds."""

pytestmark = pytest.mark.fast


def names(path: Path, wanted: re.Pattern[str]) -> Iterator[str]:
    """Of what a file names, in which the pattern is found; most files have no such word and need no parser."""
    text = path.read_text(encoding="utf-8")
    if PARTS[wanted].search(text) and any(map(wanted.search, set(WORD.findall(text)))):
        yield from filter(wanted.search, _names(text))


def _names(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def test_nobody_else_asks_whether_layers_are_tiled() -> None:
    files = [path for path in SOURCES.rglob("*.py") if "targets" not in path.relative_to(SOURCES).parts]
    asking = {path.relative_to(SOURCES).as_posix() for path in files if any(names(path, IS_TILED))}
    assert asking == CHOSEN_ONCE


def test_no_generic_name_is_that_of_a_memory_of_one_chip() -> None:
    files = [path for folder in GENERIC for path in (SOURCES / folder).rglob("*.py")]
    found = {(path.name, name) for path in files for name in (*filter(CHIP.search, [path.stem]), *names(path, CHIP))}
    assert {one for one in found if one[1] not in OF_OPTIONS} == set()

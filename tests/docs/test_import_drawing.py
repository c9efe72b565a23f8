"""The drawing of imports in docs/architecture.md is that of the code. `TILEWRIGHT_UPDATE_GOLDEN=1 pytest tests/docs`
writes it anew."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import pytest

from tests.test_imports import LAYERS, imported, is_ours, level, modules, part_of

PAGE = Path(__file__).parent.parent.parent / "docs/architecture.md"
DRAWING = re.compile(r"```\nfloor  folder.*?```\n", re.DOTALL)


@cache
def imports() -> dict[str, set[str]]:
    """Every folder, and the others that it imports from."""
    found: dict[str, set[str]] = {part: set() for parts in LAYERS for part in parts}
    for path in modules():
        found[part_of(path)] |= {name.split(".")[1] for name in imported(path) if is_ours(name)} - {part_of(path)}
    return found


@cache
def below(part: str) -> frozenset[str]:
    """All that a folder needs, directly or not."""
    return frozenset(imports()[part]).union(*map(below, imports()[part]))


def stands_on(part: str) -> list[str]:
    """What it imports from and reaches through no other."""
    through = frozenset[str]().union(*map(below, imports()[part]))
    return sorted(imports()[part] - through, key=lambda other: (-level(other), other))


def drawing() -> str:
    lines = [
        f"{floor:>5}  {part:<12} {' '.join(stands_on(part))}".rstrip()
        for floor, parts in reversed(list(enumerate(LAYERS)))
        for part in sorted(parts)
        if part != "__main__"
    ]
    return "\n".join(["```", "floor  folder       stands on", *lines, "```", ""])


@pytest.mark.fast
def test_the_drawing_is_that_of_the_code() -> None:
    found = DRAWING.search(PAGE.read_text())
    assert found is not None
    if os.environ.get("TILEWRIGHT_UPDATE_GOLDEN"):
        PAGE.write_text(PAGE.read_text().replace(found.group(), drawing()))
        return
    assert found.group() == drawing()

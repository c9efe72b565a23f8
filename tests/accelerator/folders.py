"""Folders of accelerators for tests: the examples, and changed copies of them."""

from __future__ import annotations

import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
QVANILLA, REQUANT, ARRAY, RESIDUAL = (
    EXAMPLES / name for name in ("qvanilla", "qvanilla_requant", "ws_array", "residual")
)


def changed(folder: Path, place: Path, file: str, *replacements: tuple[str, str]) -> str:
    """A copy in which some text of a file is another."""
    copy = place / folder.name
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    text = (copy / file).read_text()
    for old, new in replacements:
        assert old in text, f"{file} does not say {old}"
        text = text.replace(old, new)
    (copy / file).write_text(text)
    return str(copy)

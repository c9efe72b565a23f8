"""Tables of plain text, for reports on what takes less time than loading a library for tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

GAP = "  "


def print_table(
    target: TextIO, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1
) -> None:
    """The first columns, of names, begin on the left, all others end on the right."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    lines = [_line(cells, widths, names) for cells in (headings, *rows)]
    print(_bold(title, target), _bold(lines[0], target), "─" * len(lines[0]), *lines[1:], sep="\n", file=target)


def _line(cells: Sequence[str], widths: Sequence[int], names: int) -> str:
    padded = [
        cell.ljust(width) if column < names else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return GAP.join(padded)


def _bold(text: str, target: TextIO) -> str:
    """On a terminal that shows it."""
    is_plain = not target.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if is_plain else f"\x1b[1m{text}\x1b[0m"

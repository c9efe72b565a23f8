"""Errors are output: where, what and what to try, in a red block on stderr."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.text import Text

from tilewright.errors import CompileError, ManyErrors
from tilewright.report.console import console, name_text

LABEL = 8
"""Columns before the text of each line."""


def print_error(error: CompileError) -> None:
    target = console(stderr=True)
    width = target.width - LABEL if target.is_terminal else None
    errors = error.errors if isinstance(error, ManyErrors) else (error,)
    if len(errors) > 1:
        target.print(Text(f"✗ refused: {len(errors)} problems", style="bold red"))
    last = {found.hint: found for found in errors}
    for found in errors:
        hint = found.hint if last[found.hint] is found else ""
        for line in _block(found, hint, "✗" if len(errors) == 1 else "·", width):
            target.print(line, soft_wrap=True)


def print_fault(where: str, what: str, hint: str) -> None:
    """A fault of our own; its hint is copied into a report, so that its lines stay whole."""
    target = console(stderr=True)
    for label, text, style in (("where", where, "bold red"), ("what", what, ""), ("hint", hint, "cyan")):
        for line in _lines("✗" if label == "where" else "│", label, text, style, None):
            target.print(line, soft_wrap=True)


def _block(error: CompileError, hint: str, mark: str, width: int | None) -> Iterator[Text]:
    """What several errors have to try is said once, after the last of them."""
    yield from _lines(mark, "where", name_text(error.where).plain, "bold red", width)
    yield from _lines("│", "what", error.what, "", width)
    if hint:
        yield from _lines("│", "hint", hint, "cyan", width)


def _lines(mark: str, label: str, text: str, style: str, width: int | None) -> Iterator[Text]:
    for part in text.splitlines() or [""]:
        for line in _wrapped(part, width):
            yield Text.assemble((mark, "bold red"), (f" {label:<6}", "dim"), (line, style))
            mark, label = "│", ""


def _wrapped(text: str, width: int | None) -> list[str]:
    """Lines for a terminal; a log gets the whole text, which can be searched."""
    return textwrap.wrap(text, max(width, 20)) or [""] if width else [text]

"""Errors are output: where, what and what to try, in a red block on stderr."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tilewright.errors import CompileError, ManyErrors
from tilewright.report.console import console, name_text


def print_error(error: CompileError) -> None:
    errors = error.errors if isinstance(error, ManyErrors) else (error,)
    target = console(stderr=True)
    if len(errors) > 1:
        target.print(Text(f"✗ refused: {len(errors)} problems", style="bold red"))
    for found in errors:
        target.print(_block(found, "✗" if len(errors) == 1 else "·"))


def _block(error: CompileError, mark: str) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="red", no_wrap=True)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, "bold red"), "where", name_text(error.where, "bold red"))
    grid.add_row("│", "what", Text(error.what))
    if error.hint:
        grid.add_row("│", "hint", Text(error.hint, "cyan"))
    return grid

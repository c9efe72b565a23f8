"""Where output goes, and how names and tables look in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TimeRemainingColumn
from rich.status import Status
from rich.table import Table
from rich.text import Text

from tilewright.errors import printable

PLAIN_WIDTH = 160
"""Columns of output that does not go to a terminal: tables in logs should not wrap."""

NAME_WIDTH = 24
"""Columns that names get at least, if they are that long; longer ones are wrapped where space is short."""
GAP = 2
"""Columns between two columns of a table."""


class PatientConsole(Console):
    """Does not end the process where the reader has gone: the exit code says what was found."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def console(stderr: bool = False) -> Console:
    found = PatientConsole(stderr=stderr, highlight=False, soft_wrap=False)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found = PatientConsole(stderr=stderr, highlight=False, width=PLAIN_WIDTH)
    return found


@contextmanager
def progress() -> Iterator[Status | None]:
    """A spinner on stderr that says what is being done; gone when it is done, and absent in logs."""
    target = console(stderr=True)
    if not target.is_terminal:
        yield None
        return
    with target.status("starting", spinner="dots", spinner_style="cyan") as status:
        yield status


@contextmanager
def bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on stderr for work whose amount is known; gone when it is done, and absent in logs."""
    target = console(stderr=True)
    if not target.is_terminal:
        yield lambda what, done, total: None
        return
    columns = (SpinnerColumn(style="cyan"), "{task.description}", BarColumn(), "{task.completed}/{task.total}")
    with Progress(*columns, TimeRemainingColumn(), console=target, transient=True) as shown:
        task = shown.add_task("starting", total=None)
        yield lambda what, done, total: shown.update(task, description=what, completed=done, total=total)


def name_text(name: str, style: str = "") -> Text:
    """A name from a model: data, so never markup or control characters."""
    return Text(printable(name).replace("\n", "\\n"), style=style)


def plain_table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 1, 0, 0))


def fitting_table(
    width: int, headings: Sequence[str], rows: Sequence[Sequence[str | Text]], names: str, optional: Sequence[str]
) -> Table:
    """A table of the columns that fit: names are wrapped, and in a narrow terminal the `optional` columns go first."""
    left_out = 0
    while left_out < len(optional) and _width(headings, rows, names, optional[:left_out]) > width:
        left_out += 1
    kept = [at for at, heading in enumerate(headings) if heading not in optional[:left_out]]
    table = plain_table()
    for at in kept:
        justify: Literal["left", "right"] = "right" if headings[at] in NUMBERS else "left"
        table.add_column(headings[at], justify=justify, no_wrap=headings[at] != names, overflow="fold")
    for row in rows:
        table.add_row(*(row[at] for at in kept), style="dim" if "view" in row else "")
    return table


NUMBERS = frozenset({"#", "MACs", "params", "elements", "mismatches", "max |error|", "allowed", "floor"})
"""Headings of columns that are aligned to the right."""


def _width(headings: Sequence[str], rows: Sequence[Sequence[str | Text]], names: str, without: Sequence[str]) -> int:
    widths = {
        heading: max(cell_len(str(cell)) for cell in (heading, *(row[at] for row in rows)))
        for at, heading in enumerate(headings)
        if heading not in without
    }
    widths[names] = min(widths[names], NAME_WIDTH)
    return sum(widths.values()) + GAP * (len(widths) - 1)


def print_titled(target: Console, title: str, table: Table) -> None:
    target.print(name_text(title, "bold"), soft_wrap=True)
    target.print(table)

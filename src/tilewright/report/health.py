"""What `tilewright doctor` prints: a line for each thing, and how to get what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilewright.toolchain.doctor import Check


def print_checks(target: Console, checks: Sequence[Check]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for one in checks:
        table.add_row(_mark(one), one.name, Text(one.found if one.works else "missing"), Text(f"for {one.purpose}"))
    target.print(table)
    missing = [one for one in checks if not one.works]
    for one in missing:
        why = f" ({one.found})" if one.found else ""
        target.print(Text.assemble((f"{one.name}{why}: ", "bold"), (one.hint, "cyan")), soft_wrap=True)
    if not missing:
        target.print("nothing is missing")


def _mark(check: Check) -> Text:
    if check.works:
        return Text("✓", "green")
    return Text("✗", "bold red") if check.is_needed else Text("-", "yellow")

"""The table that says why each node is computed where it is."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilewright.explaining import Candidate, Explanation
from tilewright.report.console import name_text, print_titled


def print_explanations(target: Console, title: str, found: Sequence[Explanation]) -> None:
    """A row for each node; the reasons of engines that refuse it stand below the choice."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in ("#", "node", "operator", "engine", "cycles", "why"):
        table.add_column(heading, justify="right" if heading == "cycles" else "left", overflow="fold")
    for number, one in enumerate(found):
        cycles = "" if one.cycles is None else f"{one.cycles:,}"
        table.add_row(str(number), name_text(one.node), one.operator, f"{one.engine}.{one.kernel}", cycles, _why(one))
    print_titled(target, title, table)


def _why(one: Explanation) -> Text:
    lines = [Text(one.why)]
    lines += [Text(_other(candidate), "dim") for candidate in one.candidates if candidate.engine != one.engine]
    return Text("\n").join(lines)


def _other(candidate: Candidate) -> str:
    if candidate.refusal:
        return f"{candidate.engine}: {candidate.refusal}"
    cycles = "" if candidate.cycles is None else f", {candidate.cycles:,} cycles"
    return f"{candidate.engine}: {candidate.kernel}{cycles}"

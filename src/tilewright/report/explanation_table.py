"""The table that says why each node is computed where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilewright.analysis.explain import Candidate, Explanation
from tilewright.report.console import NAME_WIDTH, name_text, print_titled

NARROW = 100
"""Columns of a terminal in which reasons have no column of their own."""


def print_explanations(target: Console, title: str, found: Sequence[Explanation]) -> None:
    """A row for each node, with what the other engines would take below the choice; reasons for which engines refuse
    nodes have numbers and stand below the table, each once."""
    reasons = _reasons(found)
    table = _narrow(found, reasons) if target.width < NARROW else _wide(found, reasons)
    print_titled(target, title, table)
    for reason, number in reasons.items():
        target.print(Text(f" [{number}] {reason}", "dim"))


def _wide(found: Sequence[Explanation], reasons: Mapping[str, int]) -> Table:
    table = _table("#", "node", "operator", "engine", _unit(found), "why")
    for number, one in enumerate(found):
        row = (name_text(one.short_name), one.operator, _kernel(one), _cycles(one), _why(one, reasons))
        table.add_row(str(number), *row)
    return table


def _narrow(found: Sequence[Explanation], reasons: Mapping[str, int]) -> Table:
    """Reasons stand below engines."""
    table = _table("#", "node", _unit(found), "engine and why")
    table.columns[1].max_width = NAME_WIDTH
    for number, one in enumerate(found):
        engine = Text("\n").join([Text(_kernel(one)), _why(one, reasons)])
        table.add_row(str(number), name_text(one.short_name), _cycles(one), engine)
    return table


def _unit(found: Sequence[Explanation]) -> str:
    return found[0].unit if found else "cycles"


def _table(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="right" if heading in ("cycles", "ns") else "left", overflow="fold")
    return table


def _kernel(one: Explanation) -> str:
    return f"{one.engine}.{one.kernel}"


def _cycles(one: Explanation) -> str:
    return "" if one.cycles is None else f"{one.cycles:,}"


def _reasons(found: Sequence[Explanation]) -> dict[str, int]:
    """Every reason for a refusal, and its number."""
    refused = (candidate.refusal for one in found for candidate in one.candidates if candidate.refusal)
    return {reason: number for number, reason in enumerate(dict.fromkeys(refused), 1)}


def _why(one: Explanation, reasons: Mapping[str, int]) -> Text:
    lines = [Text(one.why)]
    others = (candidate for candidate in one.candidates if candidate.engine != one.engine)
    lines += [Text(_other(candidate, reasons), "dim") for candidate in others]
    return Text("\n").join(lines)


def _other(candidate: Candidate, reasons: Mapping[str, int]) -> str:
    if candidate.refusal:
        return f"{candidate.engine}: does not support it [{reasons[candidate.refusal]}]"
    cycles = "" if candidate.cycles is None else f" {candidate.cycles:,}"
    return f"{candidate.engine}: {candidate.kernel}{cycles}"

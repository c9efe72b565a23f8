"""The table that says why each node is computed where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilewright.explaining import Candidate, Explanation
from tilewright.report.console import name_text, print_titled


def print_explanations(target: Console, title: str, found: Sequence[Explanation]) -> None:
    """A row for each node, with what the other engines would take below the choice; reasons for which engines refuse
    nodes have numbers and stand below the table, each once."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in ("#", "node", "operator", "engine", "cycles", "why"):
        table.add_column(heading, justify="right" if heading == "cycles" else "left", overflow="fold")
    reasons = _reasons(found)
    for number, one in enumerate(found):
        cycles = "" if one.cycles is None else f"{one.cycles:,}"
        kernel = f"{one.engine}.{one.kernel}"
        table.add_row(str(number), name_text(one.node), one.operator, kernel, cycles, _why(one, reasons))
    print_titled(target, title, table)
    for reason, number in reasons.items():
        target.print(Text(f" [{number}] {reason}", "dim"))


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
        return f"{candidate.engine}: refuses it [{reasons[candidate.refusal]}]"
    cycles = "" if candidate.cycles is None else f" {candidate.cycles:,}"
    return f"{candidate.engine}: {candidate.kernel}{cycles}"

"""The rows of a study: what was varied, what it gave, and which points are the best of their model."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from tilewright.errors import printable
from tilewright.exploring.columns import column_of
from tilewright.exploring.results import Results
from tilewright.exploring.row import AGREES, Row
from tilewright.report.console import fitting_table, name_text, print_titled
from tilewright.report.energy import MORE
from tilewright.report.numbers import count, duration, size

METRICS = {
    "cycles": "cycles", "instructions": "instr.", "macs_per_cycle": "MACs/cycle", "energy_uj": "uJ",
    "planned_ram_bytes": "RAM", "constant_bytes": "flash", "code_bytes": "code",
}  # fmt: skip
"""Columns of every table whose rows have them, and their headings."""

OPTIONAL = ("code", "instr.", "flash", "uJ", "MACs/cycle", "RAM")
"""In a narrow terminal these go first."""

MOST_REASONS = 10


def print_study(target: Console, results: Results) -> None:
    varied = [axis for axis in results.axes if len({row.settings.get(axis) for row in results.rows}) > 1]
    metrics = {name: heading for name, heading in METRICS.items() if name in results.metrics}
    if "clock" in varied and "milliseconds" in results.metrics:  # cycles are the same at all of them
        metrics["milliseconds"] = "ms"
    metrics |= {name: name for name in results.objectives if name in results.metrics and name not in metrics}
    headings = ("", "model", "target", *varied, *metrics.values(), "")
    rows = [_cells(row, mark, varied, list(metrics)) for row, mark in zip(results.rows, results.best, strict=True)]
    table = fitting_table(target.width, headings, rows, "model", OPTIONAL)
    print_titled(target, results.title, table)
    _print_reasons(target, results)
    target.print(_summary(results), soft_wrap=True)


def _cells(row: Row, mark: bool, varied: list[str], metrics: list[str]) -> list[str | Text]:
    values: list[str | Text] = [name_text(value_text(row.settings.get(axis))) for axis in varied]
    figures: list[str | Text] = [_lacking(name, row) + figure_text(name, row.metrics.get(name)) for name in metrics]
    status = Text("✓", "green") if row.status == AGREES else Text(row.status, "bold red")
    return [Text("●" if mark else "", "bold green"), name_text(row.model), row.target, *values, *figures, status]


def _lacking(name: str, row: Row) -> str:
    """Before an energy that is not all of it."""
    return MORE if name == "energy_uj" and row.metrics.get("energy_not_counted") else ""


def value_text(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def figure_text(name: str, value: float | None) -> str:
    if value is None:
        return ""
    column = column_of(name)
    if column is not None and column.unit == "bytes":
        return size(int(value))
    if name == "cycles":
        return f"{int(value):,}"
    if isinstance(value, int):
        return count(value)
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _print_reasons(target: Console, results: Results) -> None:
    """Why rows are not what was asked for, each reason once."""
    reasons: dict[str, list[Row]] = {}
    for row in results.rows:
        if row.status != AGREES:
            reasons.setdefault(f"{row.status}: {row.reason}", []).append(row)
    for reason, rows in list(reasons.items())[:MOST_REASONS]:
        points = f"{len(rows)} point{'s' if len(rows) > 1 else ''}"
        target.print(Text.assemble((f" {points} ", "bold red"), printable(reason)), soft_wrap=True)
        if rows[0].hint:
            target.print(Text(f"   hint: {printable(rows[0].hint)}", "cyan"), soft_wrap=True)
    if len(reasons) > MOST_REASONS:
        target.print(f" and {len(reasons) - MOST_REASONS} other reasons: see results.csv", soft_wrap=True)


def _summary(results: Results) -> Text:
    counts = ", ".join(f"{number} {status}" for status, number in results.counts.items())
    busy = f"; {results.processes} processes, busy {results.busy:.0%} of the time" if results.computed > 1 else ""
    busy = busy if results.processes > 1 else ""
    what = f" of {results.points} points: {counts}; {results.computed} computed in {duration(results.seconds)}{busy}"
    best = f"; ● the best in {', '.join(results.objectives)}" if any(results.best) else ""
    return Text.assemble(
        (f" {len(results.rows)}", "bold"), what, best, "; tables in ", name_text(results.folder, "green")
    )

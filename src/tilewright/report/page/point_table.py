"""The rows of a study as a table that sorts and filters."""

from __future__ import annotations

from tilewright.exploring.results import Results
from tilewright.exploring.row import AGREES, Row
from tilewright.report.page.content import Cell, Column, Table
from tilewright.report.page.key_words import meaning_of, with_unit, words_of
from tilewright.report.study_table import METRICS, figure_text, value_text


def point_table(results: Results) -> Table:
    """What was varied, what it gave, and why not; other metrics where all columns are asked for."""
    metrics = results.metrics
    columns = [Column("best", "none of its model is as good in all objectives and better in one"), Column("model"),
               Column("target"), *(Column(words_of(axis), meaning_of(axis)) for axis in results.axes), Column("status"),
               *(_column(name, results) for name in metrics)]  # fmt: skip
    wrong = any(row.status != AGREES for row in results.rows)
    columns += [Column("reason")] if wrong else []
    rows = [
        (Cell("●" if mark else "", float(mark)), Cell(row.model), Cell(row.target),
         *(_setting(row, axis) for axis in results.axes), Cell(row.status), *(_figure(row, name) for name in metrics),
         *([Cell(row.reason)] if wrong else []))
        for row, mark in zip(results.rows, results.best, strict=True)
    ]  # fmt: skip
    caption = (
        "Click on a heading to sort by it, again for the other direction. Type to filter; rows must contain every word."
    )
    return Table("table", "All points", caption, tuple(columns), tuple(rows))


def _column(name: str, results: Results) -> Column:
    is_detail = name not in METRICS and name not in results.objectives
    return Column(with_unit(name), meaning_of(name), True, is_detail)


def _setting(row: Row, axis: str) -> Cell:
    value = row.settings.get(axis)
    number = float(value) if isinstance(value, int | float) else None
    return Cell(value_text(value), number)


def _figure(row: Row, name: str) -> Cell:
    value = row.metrics.get(name)
    return Cell(figure_text(name, value), value)

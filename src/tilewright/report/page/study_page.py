"""The page of a study: its points against each other, and all of them."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.exploring.results import Results
from tilewright.exploring.row import AGREES
from tilewright.report.numbers import duration
from tilewright.report.page.accuracy import accuracy_chart
from tilewright.report.page.content import Page, Total
from tilewright.report.page.key_words import words_of
from tilewright.report.page.pareto import pareto
from tilewright.report.page.point_table import point_table
from tilewright.report.study_table import value_text

MOST_NOTES = 20


def study_page(results: Results) -> Page:
    chart, table = pareto(results), point_table(results)
    sections = tuple(section for section in (chart, accuracy_chart(results), table) if section is not None)
    return Page(results.title, _facts(results), tuple(_totals(results)), sections, tuple(_notes(results)))


def _facts(results: Results) -> dict[str, str]:
    rows = results.rows
    found = {
        "models": ", ".join(dict.fromkeys(row.model for row in rows)),
        "targets": ", ".join(dict.fromkeys(row.target for row in rows)),
    }
    for axis in results.axes:
        values = dict.fromkeys(value_text(row.settings[axis]) for row in rows if axis in row.settings)
        found[words_of(axis)] = "; ".join(values)
    return found | {"objectives": ", ".join(map(words_of, results.objectives)), "tilewright": results.version}


def _totals(results: Results) -> Iterator[Total]:
    counts = ", ".join(f"{status}: {number}" for status, number in results.counts.items())
    yield Total("points", f"{len(results.rows)} of {results.points}", counts)
    for model in dict.fromkeys(row.model for row in results.rows):
        own = [row for row in results.rows if row.model == model and row.status == AGREES and "cycles" in row.metrics]
        if own:
            fastest = min(own, key=lambda row: row.metrics["cycles"])
            said = [f"{words_of(axis)} {value_text(value)}" for axis, value in fastest.settings.items()]
            cycles = f"{int(fastest.metrics['cycles']):,} cycles"
            yield Total(f"fastest {model}", cycles, ", ".join([f"on {fastest.target}", *said]))
    yield Total("computed", str(results.computed), f"in {duration(results.seconds)}, the last time")


def _notes(results: Results) -> Iterator[str]:
    """Why points are not what was asked for, each reason once."""
    reasons = dict.fromkeys(f"{row.status}: {row.reason}" for row in results.rows if row.status != AGREES)
    yield from list(reasons)[:MOST_NOTES]
    if len(reasons) > MOST_NOTES:
        yield f"{len(reasons) - MOST_NOTES} other reasons stand in the table"

"""The accuracy of a study's points along each axis with numbers: the mean over seeds, and how far they are apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from tilewright.exploring.results import Results
from tilewright.exploring.row import AGREES, Row
from tilewright.report.page.colours import by_name
from tilewright.report.page.content import Chart, Figure
from tilewright.report.page.figures import axis, figure
from tilewright.report.page.key_words import words_of
from tilewright.report.page.words import in_figure
from tilewright.report.study_table import value_text

ACCURACY, SEED = "accuracy", "parameter.seed"
HEIGHT = 440


def accuracy_chart(results: Results) -> Chart | None:
    """Nothing where no point has an accuracy, or nothing with numbers was varied."""
    rows = [row for row in results.rows if row.status == AGREES and ACCURACY in row.metrics]
    settings = [name for name in results.axes if name != SEED]
    axes = [name for name in settings if _is_varied(rows, name)]
    if not axes:
        return None
    caption = (
        "A line for each combination of the other settings. Where seeds were varied, points are their means and bars"
        " their standard deviation."
    )
    return Chart(
        ACCURACY,
        "Accuracy",
        caption,
        {f"accuracy along {words_of(name)}": _figure(rows, name, settings) for name in axes},
    )


def _is_varied(rows: Sequence[Row], name: str) -> bool:
    values = {row.settings.get(name) for row in rows}
    return len(values) > 1 and all(isinstance(value, int | float) for value in values)


def _figure(rows: Sequence[Row], along: str, settings: Sequence[str]) -> Figure:
    lines: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        others = [
            f"{words_of(name)} {value_text(row.settings[name])}"
            for name in settings
            if name != along and name in row.settings
        ]
        lines[", ".join([f"{row.model} on {row.target}", *others])].append(row)
    colours = by_name(lines)
    traces = [_line(name, colours[name], own, along) for name, own in lines.items()]
    return figure(traces, HEIGHT, xaxis=axis(in_figure(words_of(along))), yaxis=axis(ACCURACY, tickformat=".0%"))


def _line(name: str, colour: str, rows: Sequence[Row], along: str) -> dict[str, Any]:
    found: dict[float, list[float]] = defaultdict(list)
    for row in rows:
        found[float(row.settings[along])].append(row.metrics[ACCURACY])
    at = sorted(found)
    spread = [stdev(found[x]) if len(found[x]) > 1 else 0.0 for x in at]
    return {
        "type": "scatter", "mode": "lines+markers", "name": in_figure(name), "line": {"color": colour, "width": 2},
        "x": at, "y": [mean(found[x]) for x in at], "error_y": {"type": "data", "array": spread, "color": colour},
    }  # fmt: skip

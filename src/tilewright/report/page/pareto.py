"""The points of a study against each other: what is as fast, and costs less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tilewright.exploring.columns import column_of
from tilewright.exploring.pareto import best
from tilewright.exploring.results import Results
from tilewright.exploring.row import AGREES, Row
from tilewright.records import dataclass
from tilewright.report.page.colours import by_name
from tilewright.report.page.content import Chart, Figure
from tilewright.report.page.figures import axis, bytes_axis, figure
from tilewright.report.page.key_words import with_unit, words_of
from tilewright.report.page.words import in_figure, lines_in_figure
from tilewright.report.study_table import figure_text, value_text

HEIGHT = 520
FAR_APART = 30
"""Times that the largest value is the smallest from where on an axis counts digits."""
AGAINST = (
    "area",
    "energy_uj",
    "planned_ram_bytes",
    "bytes.*",
    "constant_bytes",
    "code_bytes",
    "instructions",
    "milliseconds",
)
"""What cycles are shown against besides the objectives and what was varied."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon")


@dataclass(frozen=True)
class Pair:
    """Two columns; the first is upward."""

    up: str
    along: str


def pareto(results: Results) -> Chart | None:
    """Nothing where no two columns have numbers that differ."""
    rows = [_with_settings(row) for row in results.rows if row.status == AGREES]
    pairs = _pairs(results, rows)
    if not pairs:
        return None
    varied = [name for name in results.axes if len({str(row.settings.get(name)) for row in rows}) > 1]
    choices = {f"{with_unit(pair.up)} against {with_unit(pair.along)}": _figure(rows, pair, varied) for pair in pairs}
    caption = (
        "A point is a row of the table, named under the pointer; down and left is better. Filled points are"
        " Pareto-optimal. What was varied (bytes, cores, sizes of an array)"
        " stands for area."
    )
    return Chart("pareto", "Trade-offs", caption, choices)


def _with_settings(row: Row) -> Row:
    """Settings that are numbers count as columns too: a larger array or memory takes more area."""
    numbers = {
        name: value for name, value in row.settings.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }  # fmt: skip
    return replace(row, metrics={**numbers, **row.metrics})


def _pairs(results: Results, rows: Sequence[Row]) -> list[Pair]:
    up = "cycles" if any("cycles" in row.metrics for row in rows) else results.objectives[0]
    families = {name: column.name for name in results.metrics if (column := column_of(name)) is not None}
    shown = [name for wanted in AGAINST for name, family in families.items() if family == wanted]
    others = dict.fromkeys([*results.objectives, *results.axes, *shown])
    return [Pair(up, name) for name in others if name != up and _differs(rows, Pair(up, name))]


def _differs(rows: Sequence[Row], pair: Pair) -> bool:
    return len({row.metrics[pair.along] for row in _having(rows, pair)}) > 1


def _having(rows: Sequence[Row], pair: Pair) -> list[Row]:
    return [row for row in rows if pair.up in row.metrics and pair.along in row.metrics]


def _figure(rows: Sequence[Row], pair: Pair, varied: Sequence[str]) -> Figure:
    shown = _having(rows, pair)
    marks = best(shown, (pair.up, pair.along))
    colours = by_name(row.model for row in shown)
    symbols = {
        target: SYMBOLS[at % len(SYMBOLS)] for at, target in enumerate(dict.fromkeys(row.target for row in shown))
    }
    traces = [
        trace for model, colour in colours.items()
        for trace in _of_model([(row, mark) for row, mark in zip(shown, marks, strict=True) if row.model == model],
                               pair, colour, symbols, varied)
    ]  # fmt: skip
    return figure(traces, HEIGHT, xaxis=_axis(shown, pair.along), yaxis=_axis(shown, pair.up))


def _of_model(
    points: Sequence[tuple[Row, bool]], pair: Pair, colour: str, symbols: Mapping[str, str], varied: Sequence[str]
) -> list[dict[str, Any]]:
    """The front as steps: what lies above and to the right of it is beaten. Points of each target on it."""
    front = sorted((row.metrics[pair.along], row.metrics[pair.up]) for row, mark in points if mark)
    model = points[0][0].model
    line = {
        "type": "scatter", "mode": "lines", "x": [x for x, _ in front], "y": [y for _, y in front], "hoverinfo": "skip",
        "line": {"shape": "hv", "color": colour, "width": 2}, "showlegend": False, "name": in_figure(model),
    }  # fmt: skip
    own = {target: [one for one in points if one[0].target == target] for target in symbols}
    return [line, *(_points(of, pair, colour, symbols[target], varied) for target, of in own.items() if of)]


def _points(
    points: Sequence[tuple[Row, bool]], pair: Pair, colour: str, symbol: str, varied: Sequence[str]
) -> dict[str, Any]:
    row = points[0][0]
    return {
        "type": "scatter", "mode": "markers", "name": in_figure(f"{row.model} on {row.target}"), "hoverinfo": "text",
        "x": [row.metrics[pair.along] for row, _ in points], "y": [row.metrics[pair.up] for row, _ in points],
        "marker": {
            "color": colour, "size": 12, "line": {"width": 1, "color": "#555"},
            "symbol": [symbol if mark else f"{symbol}-open" for _, mark in points],
        },
        "hovertext": [_said(row, pair, varied) for row, _ in points],
    }  # fmt: skip


def _said(row: Row, pair: Pair, varied: Sequence[str]) -> str:
    settings = [f"{words_of(name)} {value_text(row.settings[name])}" for name in varied if name in row.settings]
    figures = [f"{with_unit(name)}: {figure_text(name, row.metrics[name])}" for name in (pair.up, pair.along)]
    return lines_in_figure([f"{row.model} on {row.target}", *settings, *figures])


def _axis(rows: Sequence[Row], name: str) -> dict[str, Any]:
    values = [row.metrics[name] for row in rows]
    far = min(values) > 0 and max(values) / min(values) > FAR_APART
    if far:
        return axis(in_figure(with_unit(name)), type="log", dtick=1)
    column = column_of(name)
    if column is not None and column.unit == "bytes":
        return bytes_axis(in_figure(words_of(name)), int(max(values)))
    return axis(in_figure(with_unit(name)), rangemode="tozero")

"""Small line charts side by side, as SVG: one panel for each group, one line for each series, a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.svg_parts import document, text

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP, LEGEND = 230, 240, 56, 56, 44, 16, 22
COLOURS = ("#6b7280", "#2563eb", "#b45309", "#d97706", "#059669", "#7c3aed")


@dataclass(frozen=True)
class Panel:
    title: str
    lines: Mapping[str, Sequence[float]]
    """Values at each position, by series."""


@dataclass(frozen=True)
class Chart:
    title: str
    positions: Sequence[str]
    """Labels along the horizontal axis."""
    panels: Sequence[Panel]

    @property
    def series(self) -> list[str]:
        return list(dict.fromkeys(name for panel in self.panels for name in panel.lines))

    @property
    def decades(self) -> tuple[int, int]:
        """Powers of ten around all values."""
        values = [value for panel in self.panels for line in panel.lines.values() for value in line]
        return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def x(self, position: int) -> float:
        return GAP + position * (WIDTH - 2 * GAP) / max(len(self.positions) - 1, 1)

    def y(self, value: float) -> float:
        low, high = self.decades
        return HEIGHT * (high - math.log10(value)) / (high - low)


def svg(chart: Chart) -> str:
    width = LEFT + len(chart.panels) * (WIDTH + GAP)
    height = TOP + HEIGHT + BOTTOM + LEGEND
    parts = [
        *_scale(chart),
        *(line for i, panel in enumerate(chart.panels) for line in _panel(chart, panel, LEFT + i * (WIDTH + GAP))),
        *_legend(chart, height - 10),
    ]
    return document(width, height, chart.title, LEFT, parts)


def _scale(chart: Chart) -> list[str]:
    low, high = chart.decades
    values = [10.0**power for power in range(low, high + 1)]
    return [text(LEFT - 6, TOP + chart.y(value) + 4, f"{value:g}", "end") for value in values]


def _panel(chart: Chart, panel: Panel, left: float) -> list[str]:
    low, high = chart.decades
    rows = [TOP + chart.y(10.0**power) for power in range(low, high + 1)]
    found = [f'<path d="M{left} {y:.1f}h{WIDTH}" stroke="#e5e7eb"/>' for y in rows]
    found.append(text(left + WIDTH / 2, TOP - 10, panel.title, "middle", 'font-weight="bold"'))
    for i, label in enumerate(chart.positions):
        x, y = left + chart.x(i), TOP + HEIGHT + 14
        found.append(text(x, y, label, "end", f'transform="rotate(-30 {x:.1f} {y})" font-size="9"'))
    return found + [line for name, values in panel.lines.items() for line in _line(chart, name, values, left)]


def _line(chart: Chart, name: str, values: Sequence[float], left: float) -> list[str]:
    colour = COLOURS[chart.series.index(name) % len(COLOURS)]
    points = [(left + chart.x(i), TOP + chart.y(value)) for i, value in enumerate(values)]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}">'
        f"<title>{escape(name)}: {value:,.2f}</title></circle>"
        for (x, y), value in zip(points, values, strict=True)
    ]
    return [f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="1.5"/>', *dots]


def _legend(chart: Chart, y: float) -> list[str]:
    step = len(chart.panels) * (WIDTH + GAP) / len(chart.series)
    found = []
    for i, name in enumerate(chart.series):
        x = LEFT + i * step
        found.append(f'<path d="M{x:.1f} {y - 4}h18" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="3"/>')
        found.append(text(x + 24, y, name, "start"))
    return found

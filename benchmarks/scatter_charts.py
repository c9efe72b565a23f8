"""Points in two logarithmic scales, as SVG: a colour for each series, names beside the points of the first one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from benchmarks.svg_parts import document, text

COLOURS = ("#111827", "#2563eb", "#dc2626", "#d97706", "#059669", "#7c3aed", "#0891b2", "#db2777")
LETTER, LINE = 4.6, 9.0
"""Of names, about."""
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, LEGEND = 620, 420, 64, 40, 40, 24


Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True)
class Point:
    series: str
    name: str
    x: float
    y: float


@dataclass(frozen=True)
class Scatter:
    title: str
    across: str
    """What the horizontal scale is."""
    up: str
    points: Sequence[Point]

    @cached_property
    def series(self) -> list[str]:
        return list(dict.fromkeys(point.series for point in self.points))

    @cached_property
    def decades(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Powers of ten around all values, of both scales."""
        return _around([point.x for point in self.points]), _around([point.y for point in self.points])

    def at(self, x: float, y: float) -> tuple[float, float]:
        (left, right), (low, high) = self.decades
        across = (math.log10(x) - left) / (right - left)
        return LEFT + WIDTH * across, TOP + HEIGHT * (high - math.log10(y)) / (high - low)


def _around(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def svg(chart: Scatter) -> str:
    height = TOP + HEIGHT + BOTTOM + LEGEND
    parts = [*_scales(chart), *(_dot(chart, point) for point in chart.points), *_names(chart), *_legend(chart, height)]
    return document(LEFT + WIDTH + 90, height, chart.title, LEFT, parts)


def _scales(chart: Scatter) -> list[str]:
    (left, right), (low, high) = chart.decades
    found = []
    for power in range(left, right + 1):
        x, _ = chart.at(10.0**power, 10.0**low)
        found.append(f'<path d="M{x:.1f} {TOP}v{HEIGHT}" stroke="#e5e7eb"/>')
        found.append(text(x, TOP + HEIGHT + 16, f"{10.0**power:g}", "middle"))
    for power in range(low, high + 1):
        _, y = chart.at(10.0**left, 10.0**power)
        found.append(f'<path d="M{LEFT} {y:.1f}h{WIDTH}" stroke="#e5e7eb"/>')
        found.append(text(LEFT - 6, y + 4, f"{10.0**power:g}", "end"))
    found.append(text(LEFT + WIDTH, TOP + HEIGHT + 32, chart.across, "end"))
    return [*found, text(LEFT, TOP - 6, chart.up, "start")]


def _dot(chart: Scatter, point: Point) -> str:
    x, y = chart.at(point.x, point.y)
    shown = f"{point.series}, {point.name}: {point.x:.3g} {chart.across}, {point.y:.3g} {chart.up}"
    colour = COLOURS[chart.series.index(point.series) % len(COLOURS)]
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{escape(shown)}</title></circle>'


def _names(chart: Scatter) -> list[str]:
    """Of the first series, where they hide least: the others' points say theirs when they are pointed at."""
    own = [point for point in chart.points if point.series == chart.series[0]]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in (chart.at(point.x, point.y) for point in chart.points)]
    found = []
    for point in own:
        x, y = chart.at(point.x, point.y)
        boxes = list(_boxes(x, y, LETTER * len(point.name)))
        box = min(boxes, key=lambda box: sum(_shared(box, other) for other in taken))
        taken.append(box)
        found.append(text(box[0], box[3] - 2, point.name, "start", 'font-size="8"'))
    return found


def _boxes(x: float, y: float, width: float) -> Iterator[Box]:
    """Places for a name beside, below and above its point, the best first."""
    for up in (0.0, LINE, -LINE, 2 * LINE, -2 * LINE):
        for left in (x + 6, x - 6 - width):
            yield left, y + up - LINE / 2, left + width, y + up + LINE / 2


def _shared(one: Box, other: Box) -> float:
    """The area that both cover."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return max(across, 0.0) * max(down, 0.0)


def _legend(chart: Scatter, height: float) -> list[str]:
    step = WIDTH / len(chart.series)
    found = []
    for number, name in enumerate(chart.series):
        x, y = LEFT + number * step, height - 8
        found.append(f'<circle cx="{x:.1f}" cy="{y - 4}" r="4" fill="{COLOURS[number % len(COLOURS)]}"/>')
        found.append(text(x + 8, y, name, "start"))
    return found

"""A picture of the widths that were tried: cost against noise, with the front and the point that was chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from tilewright.errors import printable
from tilewright.quantiser.width_search.search import FrontPoint, Search
from tilewright.report.width_front import shares

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 420, 80, 30, 60, 60
FONT = "font-family='Helvetica, Arial, sans-serif'"
LINE, POINT, CHOSEN, GRID = "#8cc8e8", "#3a7ca5", "#e07a3f", "#e4e6ea"
TICKS = 5


def svg(search: Search, network: str) -> str:
    axes = _Axes([point.cost.of(search.unit) for point in search.points], [point.snr_db for point in search.points])
    best = _front(search)
    path = " ".join(f"{axes.x(point.cost.of(search.unit)):.1f},{axes.y(point.snr_db):.1f}" for point in best)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' height='{HEIGHT}' "
        f"{FONT} font-size='11'>",
        "<rect width='100%' height='100%' fill='white'/>",
        f"<text x='{LEFT}' y='24' font-size='15' font-weight='bold'>{_safe(network)} on {_safe(search.target)}</text>",
        f"<text x='{LEFT}' y='44'>signal-to-noise at the output against {search.unit}, by the widths of layers</text>",
        *axes.drawn(search.unit),
        f"<polyline points='{path}' fill='none' stroke='{LINE}' stroke-width='2'/>",
        *(_dot(axes, search, point) for point in search.points),
        "</svg>",
        "",
    ]
    return "\n".join(parts)


def _front(search: Search) -> list[FrontPoint]:
    """Those that no cheaper one is as good as."""
    kept: list[FrontPoint] = []
    for point in search.points:
        if not kept or point.snr_db > kept[-1].snr_db:
            kept.append(point)
    return kept


def _dot(axes: _Axes, search: Search, point: FrontPoint) -> str:
    x, y = axes.x(point.cost.of(search.unit)), axes.y(point.snr_db)
    is_chosen = point is search.chosen
    title = f"{point.cost.of(search.unit):,} {search.unit}, {point.snr_db:.1f} dB, weights: {shares(point)}"
    dot = f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{7 if is_chosen else 4}' fill='{CHOSEN if is_chosen else POINT}'>"
    label = f"<text x='{x + 9:.1f}' y='{y - 8:.1f}' fill='{CHOSEN}' font-weight='bold'>chosen</text>"
    return f"{dot}<title>{_safe(title)}</title></circle>{label if is_chosen else ''}"


class _Axes:
    """Costs to the right, logarithmic where they span more than ten times; decibels upwards."""

    def __init__(self, costs: Sequence[float], decibels: Sequence[float]) -> None:
        self.log = min(costs) > 0 and max(costs) > 10 * min(costs)
        scaled = [self._scaled(cost) for cost in costs]
        self.costs = _padded(min(scaled), max(scaled))
        self.decibels = _padded(min(decibels), max(decibels))

    def _scaled(self, cost: float) -> float:
        return math.log10(cost) if self.log else float(cost)

    def x(self, cost: float) -> float:
        low, high = self.costs
        return LEFT + (WIDTH - LEFT - RIGHT) * (self._scaled(cost) - low) / (high - low)

    def y(self, decibels: float) -> float:
        low, high = self.decibels
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (decibels - low) / (high - low)

    def drawn(self, unit: str) -> Iterator[str]:
        for part in range(TICKS):
            low, high = self.costs
            value = low + (high - low) * part / (TICKS - 1)
            cost = 10**value if self.log else value
            x = self.x(cost)
            yield f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{TOP}' y2='{HEIGHT - BOTTOM}' stroke='{GRID}'/>"
            yield f"<text x='{x:.1f}' y='{HEIGHT - BOTTOM + 18}' text-anchor='middle'>{cost:,.0f}</text>"
            low, high = self.decibels
            noise = low + (high - low) * part / (TICKS - 1)
            y = self.y(noise)
            yield f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y:.1f}' y2='{y:.1f}' stroke='{GRID}'/>"
            yield f"<text x='{LEFT - 8}' y='{y + 4:.1f}' text-anchor='end'>{noise:.1f} dB</text>"
        middle = (LEFT + WIDTH - RIGHT) / 2
        yield f"<text x='{middle}' y='{HEIGHT - 16}' text-anchor='middle' font-weight='bold'>{unit}</text>"


def _padded(low: float, high: float) -> tuple[float, float]:
    margin = 0.06 * (high - low) or max(abs(high), 1.0) * 0.06
    return low - margin, high + margin


def _safe(text: str) -> str:
    return escape(printable(text), quote=True)

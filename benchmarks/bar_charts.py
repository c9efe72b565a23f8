"""Stacked bars in groups, as SVG: one group for each case, one bar for each variant, one colour for each part."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from benchmarks.svg_parts import document, text

BAR, SPACE, GAP, HEIGHT, LEFT, TOP, BOTTOM, LEGEND = 56, 12, 34, 260, 70, 56, 58, 22
COLOURS = ("#2563eb", "#b45309", "#059669", "#7c3aed", "#d97706", "#6b7280", "#db2777", "#111827")
FEWEST_TICKS = 3
"""Between the foot and the top of a group, in round numbers."""


@dataclass(frozen=True)
class Group:
    title: str
    bars: Mapping[str, Mapping[str, float]]
    """By variant, what each part takes."""

    @property
    def width(self) -> int:
        return len(self.bars) * (BAR + SPACE)

    @property
    def tallest(self) -> float:
        return max(sum(parts.values()) for parts in self.bars.values())

    @property
    def tick(self) -> float:
        """The largest of 1, 2 or 5 times a power of ten that the tallest bar has some of."""
        power = 10.0 ** math.floor(math.log10(self.tallest))
        return next(part * power for part in (5, 2, 1, 0.5, 0.2) if self.tallest >= FEWEST_TICKS * part * power)

    @property
    def ticks(self) -> int:
        return math.ceil(self.tallest / self.tick)


@dataclass(frozen=True)
class BarChart:
    """Every group has a scale of its own: they are not of one size."""

    title: str
    groups: Sequence[Group]

    @property
    def parts(self) -> list[str]:
        return list(dict.fromkeys(part for group in self.groups for bar in group.bars.values() for part in bar))


def svg(chart: BarChart) -> str:
    lefts = [*accumulate((LEFT + group.width + GAP for group in chart.groups), initial=LEFT)]
    width, height = lefts[-1], TOP + HEIGHT + BOTTOM + LEGEND
    parts = [
        *(line for group, left in zip(chart.groups, lefts, strict=False) for line in _group(chart, group, left)),
        *_legend(chart, width, height - 10),
    ]
    return document(width, height, chart.title, LEFT, parts)


def _group(chart: BarChart, group: Group, left: int) -> list[str]:
    found = [text(left + group.width / 2, TOP - 12, group.title, "middle", 'font-weight="bold"')]
    for tick in range(group.ticks + 1):
        y = TOP + HEIGHT * (1 - tick / group.ticks)
        found.append(f'<path d="M{left} {y:.1f}h{group.width}" stroke="#e5e7eb"/>')
        found.append(text(left - 6, y + 4, f"{tick * group.tick:,.0f}", "end"))
    for number, (variant, parts) in enumerate(group.bars.items()):
        x = left + SPACE / 2 + number * (BAR + SPACE)
        found += _bar(chart, parts, x, HEIGHT / (group.ticks * group.tick))
        middle, y = x + BAR / 2, TOP + HEIGHT + 14
        found.append(text(middle, y, variant, "end", f'transform="rotate(-20 {middle:.1f} {y})" font-size="9"'))
    return found


def _bar(chart: BarChart, parts: Mapping[str, float], x: float, scale: float) -> list[str]:
    found, y = [], float(TOP + HEIGHT)
    for part, value in parts.items():
        colour, size = COLOURS[chart.parts.index(part) % len(COLOURS)], value * scale
        y -= size
        found.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{BAR}" height="{size:.1f}" fill="{colour}">'
            f"<title>{escape(part)}: {value:,.0f}</title></rect>"
        )
    return found


def _legend(chart: BarChart, width: int, y: float) -> list[str]:
    step, found = (width - LEFT) / len(chart.parts), []
    for number, part in enumerate(chart.parts):
        x = LEFT + number * step
        found.append(f'<rect x="{x:.1f}" y="{y - 9}" width="10" height="10" fill="{COLOURS[number % len(COLOURS)]}"/>')
        found.append(text(x + 15, y, part, "start"))
    return found

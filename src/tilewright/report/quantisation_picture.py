"""A picture of what quantisation does to each layer: its range, what is clipped, its noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from tilewright.errors import printable
from tilewright.quantiser.cost.reporting import LayerReport, Report

FONT = "font-family='Helvetica, Arial, sans-serif'"
NAMES, PANEL, GAP, TOP, ROW, BOTTOM = 270, 300, 50, 84, 20, 30
SEEN, HELD, CLIPPED, NOISE, OWN = "#c9ccd1", "#8cc8e8", "#f0a58f", "#8ecf9e", "#cfa8dd"
MOST_DB = 60.0
LETTERS = 36
LEAST_CLIPPED = 1e-6


def svg(report: Report, network: str) -> str:
    """One row for each layer: names, then a panel for ranges, one for clipping, one for noise."""
    width = NAMES + 3 * (PANEL + GAP)
    height = TOP + ROW * len(report.layers) + BOTTOM
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
        f"{FONT} font-size='11'>",
        "<rect width='100%' height='100%' fill='white'/>",
        f"<text x='12' y='26' font-size='17' font-weight='bold'>{_safe(network)}: {_safe(report.headline)}</text>",
        *_headings(),
    ]
    for number, layer in enumerate(report.layers):
        parts += _row(layer, TOP + ROW * number)
    return "\n".join([*parts, "</svg>", ""])


def _headings() -> Iterator[str]:
    titles = (
        "range: seen (grey), held (blue)", "clipped share, logarithmic from 1e-6 to 1",
        f"SNR (green), own SNR (violet), 0 to {MOST_DB:.0f} dB",
    )  # fmt: skip
    for panel, title in enumerate(titles):
        yield f"<text x='{_left(panel)}' y='{TOP - 14}' font-size='12' font-weight='bold'>{_safe(title)}</text>"


def _row(layer: LayerReport, top: int) -> Iterator[str]:
    name = layer.name if len(layer.name) <= LETTERS else "…" + layer.name[1 - LETTERS :]
    yield f"<text x='{NAMES - 8}' y='{top + 13}' text-anchor='end'>{_safe(name)}</text>"
    yield from _ranges(layer, top)
    yield from _bar(1, top + 3, _clipping(layer.clipped), ROW - 7, CLIPPED, f"{layer.clipped:.4%} clipped")
    yield from _bar(2, top + 2, layer.snr_db / MOST_DB, 8, NOISE, f"{layer.name}: {layer.snr_db:.1f} dB {layer.hint}")
    yield from _bar(2, top + 10, layer.own_db / MOST_DB, 5, OWN, f"own rounding: {layer.own_db:.1f} dB")
    yield f"<text x='{_left(2) + PANEL + 4}' y='{top + 13}' font-size='10'>{layer.snr_db:.1f}</text>"


def _ranges(layer: LayerReport, top: int) -> Iterator[str]:
    """What was seen and what is held, in parts of the larger of both."""
    size = max(abs(bound) for bound in (layer.low, layer.high, layer.seen_low, layer.seen_high)) or 1.0
    for low, high, y, height, colour, what in (
        (layer.seen_low, layer.seen_high, top + 3, ROW - 7, SEEN, "seen"),
        (layer.low, layer.high, top + 7, ROW - 15, HELD, "held"),
    ):
        first, last = (_left(0) + PANEL * (0.5 + 0.5 * bound / size) for bound in (low, high))
        title = f"{what}: {low:.4g} to {high:.4g}, by {layer.method}"
        yield _rectangle(first, y, max(last - first, 1.0), height, colour, title)
    middle = _left(0) + PANEL / 2
    yield f"<line x1='{middle}' x2='{middle}' y1='{top}' y2='{top + ROW}' stroke='#444' stroke-width='.6'/>"


def _clipping(share: float) -> float:
    """Where a share lies on a logarithmic axis; nothing where nothing is clipped."""
    return 0.0 if share < LEAST_CLIPPED else 1 - math.log10(share) / math.log10(LEAST_CLIPPED)


def _bar(panel: int, y: int, part: float, height: int, colour: str, title: str) -> Iterator[str]:
    yield _rectangle(_left(panel), y, PANEL * min(max(part, 0.0), 1.0), height, colour, title)


def _rectangle(x: float, y: float, width: float, height: float, colour: str, title: str) -> str:
    place = f"x='{x:.1f}' y='{y}' width='{width:.1f}' height='{height}'"
    return f"<rect {place} fill='{colour}'><title>{_safe(title)}</title></rect>"


def _left(panel: int) -> int:
    return NAMES + panel * (PANEL + GAP)


def _safe(text: str) -> str:
    return escape(printable(text), quote=True)

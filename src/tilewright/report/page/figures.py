"""What all figures have in common, and how their axes are labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.report.numbers import exact_size
from tilewright.report.page.content import Figure

ABOVE = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "traceorder": "normal"}
"""Where legends stand: beside the picture there is no room on a narrow screen."""


def figure(data: Sequence[Mapping[str, Any]], height: int, **layout: Any) -> Figure:
    """Colours of letters and lines are the page's own, which knows whether it is light or dark."""
    margin = {"l": 10, "r": 16, "t": 44, "b": 64}
    base = {"height": height, "margin": margin, "legend": ABOVE, "hovermode": "closest", "bargap": 0.25}
    return {"data": list(data), "layout": {**base, **layout}}


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """Its title stands clear of its marks, and these clear of the frame."""
    return {
        "title": {"text": title, "standoff": 14}, "ticks": "outside", "ticklen": 5, "tickcolor": "rgba(0,0,0,0)",
        "automargin": True, "zeroline": False, **more,
    }  # fmt: skip


def bytes_axis(title: str, largest: int) -> dict[str, Any]:
    """With marks at round numbers of bytes, four to eight of them."""
    step = 1
    while largest / step > 8:
        step *= 2
    marks = list(range(0, largest + 2 * step, step))
    return axis(title, tickvals=marks, ticktext=[exact_size(mark) for mark in marks], rangemode="tozero")

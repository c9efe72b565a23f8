"""What lies where in a memory, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.ir.short_names import short_names
from tilewright.profiling.memory_map import (
    CONSTANT,
    KINDS,
    RUNTIME,
    STATE,
    STREAM,
    TENSOR,
    WORKING,
    MemoryMap,
    Occupied,
)
from tilewright.report.memory_map import COLOURS
from tilewright.report.numbers import size
from tilewright.report.page.content import Chart
from tilewright.report.page.figures import axis, bytes_axis, figure
from tilewright.report.page.words import in_figure, lines_in_figure, numbered, shortened

HEIGHT = 420
NAMED = 40
"""Steps that are marked with their names where there are not more of them."""


ACROSS, NAMED_IN_BOX, FEWEST_IN_BOX, SMALLEST = 150, 40, 8, 9
"""Letters that a chart is wide, that a name in a box has at most, and at least if it does not fit; the size of letters
below which a box has none."""
MEANINGS = {
    TENSOR: "what layers read and write",
    STREAM: "a tile that is moved while another is computed",
    CONSTANT: "weights, biases and tables",
    WORKING: "what a kernel needs besides, for one layer",
    RUNTIME: "stacks, and what the runtime keeps",
    STATE: "what lasts from call to call",
}


def memory_charts(maps: Sequence[MemoryMap]) -> list[Chart]:
    """One for each memory that something lies in."""
    return [_chart(one) for one in maps if one.regions]


def _chart(one: MemoryMap) -> Chart:
    bars = [_bars(one, kind) for kind in KINDS if any(region.kind == kind for region in one.regions)]
    top = max(one.used, *(region.end for region in one.regions))
    y, steps = bytes_axis("", top), len(one.steps)
    x: dict[str, Any] = axis("step", range=[-0.5, steps - 0.5], showgrid=False)
    if steps <= NAMED:
        names = [in_figure(numbered(title, 24)) for title in one.steps]
        x = axis(range=[-0.5, steps - 0.5], showgrid=False, tickvals=list(range(steps)), ticktext=names, tickangle=-45)
    drawn = figure(bars, HEIGHT, barmode="overlay", xaxis=x, yaxis=y, uniformtext={"mode": "hide", "minsize": SMALLEST})
    of = f" of {size(one.capacity)}" if one.capacity > one.used else ""
    remark = f" {one.remark[0].upper()}{one.remark[1:]}." if one.remark else ""
    words = "; ".join(f"{bar['name']}: {MEANINGS[bar['name']]}" for bar in bars)
    caption = f"x: layers; y: address. Each box is one buffer's lifetime.{remark} {words[0].upper()}{words[1:]}."
    return Chart(f"memory-{one.memory}", f"{one.memory}: {size(one.used)} reserved{of}", caption, {"": drawn})


def _bars(one: MemoryMap, kind: str) -> dict[str, Any]:
    regions = [region for region in one.regions if region.kind == kind]
    names = short_names(map(_called, regions))
    return {
        "type": "bar", "name": kind, "hoverinfo": "text", "textposition": "inside", "insidetextanchor": "middle",
        "text": [in_figure(shortened(names[_called(region)], _letters(one, region))) for region in regions],
        "textangle": 0, "insidetextfont": {"color": "#14181d"},
        "marker": {"color": COLOURS[kind], "line": {"width": 0.5, "color": "#555"}},
        "x": [(region.first + region.last) / 2 for region in regions],
        "width": [region.last - region.first + 1 for region in regions],
        "base": [region.offset for region in regions], "y": [region.bytes for region in regions],
        "hovertext": [_said(one, region) for region in regions],
    }  # fmt: skip


def _called(region: Occupied) -> str:
    return region.name.partition(" of ")[0]


def _letters(one: MemoryMap, region: Occupied) -> int:
    """What fits into a box."""
    across = ACROSS * (region.last - region.first + 1) // max(len(one.steps), 1)
    return min(max(across, FEWEST_IN_BOX), NAMED_IN_BOX)


def _said(one: MemoryMap, region: Occupied) -> str:
    first, last = (one.steps[step] if step < len(one.steps) else str(step)
                   for step in (region.first, region.last))  # fmt: skip
    when = f"in {first}" if region.first == region.last else f"from {first} to {last}"
    return lines_in_figure([region.name, f"{region.kind}, {region.bytes:,} bytes at {region.offset:,}", when])

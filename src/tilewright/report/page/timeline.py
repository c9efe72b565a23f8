"""What cores, accelerators and the DMA do when, a lane for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tilewright.profiling.measuring import Profiled
from tilewright.profiling.profile import LayerProfile
from tilewright.profiling.spans import (
    BESIDE,
    CHANNELS,
    JOB,
    KERNEL,
    KINDS,
    LAYER,
    TRANSFER_IN,
    TRANSFER_OUT,
    WAIT,
    Doing,
    spans,
)
from tilewright.profiling.spans import title as layer_title
from tilewright.profiling.spans import tracks as tracks_of
from tilewright.report.page.colours import QUIET, SERIES
from tilewright.report.page.content import Chart, Span
from tilewright.report.page.figures import axis, figure
from tilewright.report.page.time_words import TimeWords, time_words
from tilewright.report.page.words import in_figure, lines_in_figure, shortened

MOST = 10_000
"""Bars that a browser draws and moves without delay. Neighbours are joined where there are more."""
LANE, AROUND = 34, 120
COLOURS = {
    LAYER: QUIET, KERNEL: SERIES[0], BESIDE: SERIES[5], WAIT: SERIES[4], JOB: SERIES[1], TRANSFER_IN: SERIES[2],
    TRANSFER_OUT: SERIES[3],
}  # fmt: skip
MEANINGS = {
    LAYER: "a core has begun it and not left it", KERNEL: "a core computes",
    BESIDE: "a core prepares or finishes what an accelerator computes", WAIT: "a core waits for a transfer or a job",
    JOB: "an accelerator computes", TRANSFER_IN: "the DMA moves data towards L1",
    TRANSFER_OUT: "the DMA moves results away from L1",
}  # fmt: skip
"""For readers of the legend."""
BACKGROUND = 0.92
"""Height of a bar that others lie on, of a lane's; those are lower."""
OVERVIEW = "layers"
DMA = {TRANSFER_IN: "DMA in", TRANSFER_OUT: "DMA out"}
"""Lanes of transfers."""


def timeline(found: Profiled, engines: Mapping[str, str]) -> Chart:
    """`engines`: their colours."""
    tracks, layers = tracks_of(found), found.profile.layers
    doings = joined([one for one in spans(found) if one.end > one.start])
    lanes = _lanes(tracks, doings)
    words = time_words(found.profile)
    bars = [_overview(layers, engines, words)]
    for kind in KINDS:
        own = [one for one in doings if one.kind == kind]
        bars.append(_bars(kind, own, [lanes.index(_lane(one, tracks)) for one in own], layers, words))
    numbers, names = list(range(len(lanes))), [in_figure(name) for name in lanes]
    y = axis(tickvals=numbers, ticktext=names, range=[len(lanes) - 0.4, -0.6], fixedrange=True, showgrid=False)
    x = axis(f"{words.unit} since the call", range=[0, words.value(found.profile.cycles)], tickformat=",d")
    drawn = figure(
        [one for one in bars if one["x"]], AROUND + LANE * len(names), barmode="overlay", xaxis=x, yaxis=y,
        dragmode="zoom", uniformtext={"mode": "hide", "minsize": 9},
    )  # fmt: skip
    shown = [f"{kind}: {MEANINGS[kind]}" for kind in KINDS if any(one.kind == kind for one in doings)]
    said = "; ".join(shown)
    caption = (
        "What every core, accelerator and the DMA do: drag over a part to see it closely, double-click for all;"
        f" kinds are switched off and on in the legend. {said[:1].upper()}{said[1:]}."
    )
    around = tuple(
        Span(layer_title(layer), words.value(layer.time.start), words.value(layer.time.end)) for layer in layers
    )
    return Chart("timeline", "Timeline", caption, {"": drawn}, around)


def _lanes(tracks: Mapping[int, str], doings: Sequence[Doing]) -> list[str]:
    """Layers at the top, the DMA below cores and accelerators."""
    named = [_lane(one, tracks) for one in doings]
    own = [name for track, name in tracks.items() if name in named and track < CHANNELS]
    return [OVERVIEW, *own, *(lane for lane in DMA.values() if lane in named)]


def _lane(one: Doing, tracks: Mapping[int, str]) -> str:
    """Channels of the DMA are in use at the same time and mean nothing to a reader: directions do."""
    return DMA.get(one.kind) or tracks[one.track]


def joined(doings: Sequence[Doing], most: int = MOST) -> list[Doing]:
    """At most this number, if possible: neighbours of one kind and layer are joined if little lies between them."""
    found, gap = list(doings), 1
    while len(found) > most:
        fewer = _joined(found, gap)
        if gap > 2 * max(one.end for one in found):
            return fewer
        found, gap = fewer, 4 * gap
    return found


def _joined(doings: Iterable[Doing], gap: int) -> list[Doing]:
    last: dict[tuple[int, str, int], int] = {}
    found: list[Doing] = []
    for one in sorted(doings, key=lambda one: one.start):
        key = (one.track, one.kind, one.layer)
        at = last.get(key)
        if at is not None and one.start - found[at].end <= gap:
            name = f"{found[at].name.partition(', tile')[0].removesuffix(' and more')} and more"
            found[at] = replace(found[at], name=name, end=max(found[at].end, one.end), details={})
            continue
        last[key] = len(found)
        found.append(one)
    return found


def _overview(layers: Sequence[LayerProfile], engines: Mapping[str, str], words: TimeWords) -> dict[str, Any]:
    """A lane with the layers' own times, which add up to the whole."""
    times = [f"{words.said(one.cycles)} from {words.figure(one.time.start)}" for one in layers]
    said = [[layer_title(one), f"{one.engine}.{one.kernel}", time] for one, time in zip(layers, times, strict=True)]
    return {
        **_laid([one.time.start for one in layers], [one.time.end for one in layers], words), "y": [0] * len(layers),
        "name": "layers", "showlegend": False, "width": BACKGROUND, "hovertext": [lines_in_figure(one) for one in said],
        "marker": {"color": [engines[one.engine] for one in layers], "line": {"width": 0.5, "color": "#fff"}},
        "text": [in_figure(shortened(layer_title(one), 30)) for one in layers], "textposition": "inside",
        "insidetextanchor": "middle", "textangle": 0, "insidetextfont": {"color": "#111"},
    }  # fmt: skip


def _bars(
    kind: str, doings: Sequence[Doing], lanes: list[int], layers: Sequence[LayerProfile], words: TimeWords
) -> dict[str, Any]:
    return {
        **_laid([one.start for one in doings], [one.end for one in doings], words), "y": lanes, "name": kind,
        "width": BACKGROUND if kind == LAYER else 0.6, "textposition": "none", "opacity": 0.35 if kind == LAYER else 1,
        "marker": {"color": COLOURS[kind], "line": {"width": 0}},
        "hovertext": [_said(one, layers[one.layer], words) for one in doings],
    }  # fmt: skip


def _laid(starts: Sequence[int], ends: Sequence[int], words: TimeWords) -> dict[str, Any]:
    widths = [words.value(end - start) for start, end in zip(starts, ends, strict=True)]
    return {
        "type": "bar", "orientation": "h", "base": [words.value(start) for start in starts], "x": widths,
        "hoverinfo": "text",
    }  # fmt: skip


def _said(one: Doing, layer: LayerProfile, words: TimeWords) -> str:
    size = f"{int(one.details['bytes']):,} bytes" if "bytes" in one.details else ""
    own = layer_title(layer)
    time = f"{words.said(one.end - one.start)} from {words.figure(one.start)}"
    return lines_in_figure([one.name, "" if own in one.name else f"layer {own}", time, size])

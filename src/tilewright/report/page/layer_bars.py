"""A bar for every layer: cycles, energy, bytes moved, where the time of cores goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tilewright.profiling.profile import LayerProfile, Profile
from tilewright.profiling.spans import title
from tilewright.report.numbers import size
from tilewright.report.page.colours import QUIET, by_name
from tilewright.report.page.content import Chart, Figure
from tilewright.report.page.figures import axis, bytes_axis, figure
from tilewright.report.page.time_words import time_words
from tilewright.report.page.words import in_figure, lines_in_figure, shortened
from tilewright.report.profile import SHORT, is_predicted

ROW, AROUND = 22, 110
"""Height of a layer's row, and of what is above and below all of them."""
LETTERS = 26
"""Of a layer's name beside its bar."""

EXECUTING, ASLEEP = "executing", "sleep"

Bars = list[dict[str, Any]]


def layer_bars(profile: Profile, engines: Mapping[str, str], has_timeline: bool = True) -> Chart:
    """`engines`: their colours."""
    words, shows_plan = time_words(profile), is_predicted(profile)
    bars = [*_by_engine(profile, engines), *[_predicted(profile)] * shows_plan]
    title = words.unit if words.name == words.unit else f"{words.name} ({words.unit})"
    choices = {words.name: _figure(profile, bars, title)}
    if profile.macs:
        choices[words.speed] = _figure(profile, _speeds(profile, engines), words.speed)
    if profile.energy:
        choices["energy"] = _figure(profile, _energies(profile), "uJ")
    if any(layer.bytes_in + layer.bytes_out for layer in profile.layers):
        largest = max(layer.bytes_in + layer.bytes_out for layer in profile.layers)
        choices["bytes moved"] = _figure(profile, _moved(profile), bytes_axis("moved by the DMA", largest))
    if any(layer.stalls for layer in profile.layers):
        choices["time of the cores"] = _figure(
            profile, _core_time(profile), "share of the cores' time", range=[0, 1], tickformat=".0%"
        )
    expected = f"; diamonds are the {words.name} that the plan expected" if shows_plan else ""
    caption = f"A bar for each layer, the first at the top{expected}."
    caption += " A click on a bar shows the layer in the timeline." if has_timeline else ""
    return Chart("layers", "Layers", caption, choices)


def _figure(profile: Profile, bars: Bars, along: str | dict[str, Any], **more: Any) -> Figure:
    numbers = [layer.number for layer in profile.layers]
    names = [in_figure(_label(layer)) for layer in profile.layers]
    x = axis(along, rangemode="tozero", **more) if isinstance(along, str) else along
    y = axis(tickvals=numbers, ticktext=names, range=[len(numbers) - 0.4, -0.6], showgrid=False)
    return figure(bars, AROUND + ROW * len(numbers), barmode="stack", xaxis=x, yaxis=y)


def _label(layer: LayerProfile) -> str:
    return f"{layer.number} {shortened(layer.shown, LETTERS)}"


def _bar(name: str, colour: str, layers: list[LayerProfile], value: Callable[[LayerProfile], float],
         text: Callable[[LayerProfile], str]) -> dict[str, Any]:  # fmt: skip
    return {
        "type": "bar", "orientation": "h", "name": in_figure(name), "marker": {"color": colour},
        "y": [layer.number for layer in layers], "x": [value(layer) for layer in layers], "hoverinfo": "text",
        "textposition": "none",
        "hovertext": [lines_in_figure([f"{layer.number} {layer.name}", text(layer)]) for layer in layers],
    }  # fmt: skip


def _by_engine(profile: Profile, engines: Mapping[str, str]) -> Bars:
    words = time_words(profile)

    def said(layer: LayerProfile) -> str:
        share = layer.cycles / max(profile.cycles, 1)
        return f"{words.said(layer.cycles)}, {share:.1%} of all; {layer.engine}.{layer.kernel}"

    return [_bar(name, colour, _of(profile, name), lambda layer: words.value(layer.cycles), said)
            for name, colour in engines.items() if _of(profile, name)]  # fmt: skip


def _speeds(profile: Profile, engines: Mapping[str, str]) -> Bars:
    words = time_words(profile)

    def said(layer: LayerProfile) -> str:
        return f"{layer.macs_per_cycle:.2f} {words.speed}; {layer.macs:,} MACs in {words.said(layer.cycles)}"

    return [_bar(name, colour, _of(profile, name), lambda layer: layer.macs_per_cycle, said)
            for name, colour in engines.items() if _of(profile, name)]  # fmt: skip


def _of(profile: Profile, engine: str) -> list[LayerProfile]:
    return [layer for layer in profile.layers if layer.engine == engine]


def _predicted(profile: Profile) -> dict[str, Any]:
    words = time_words(profile)
    said = [f"{words.said(layer.predicted)} predicted, {layer.error:+.0%}" for layer in profile.layers]
    return {
        "type": "scatter", "mode": "markers", "name": "predicted", "hoverinfo": "text",
        "marker": {"symbol": "diamond", "size": 8, "color": "#fff", "line": {"width": 1.5, "color": "#333"}},
        "y": [layer.number for layer in profile.layers],
        "x": [words.value(layer.predicted) for layer in profile.layers],
        "hovertext": [lines_in_figure([title(one), text]) for one, text in zip(profile.layers, said, strict=True)],
    }  # fmt: skip


def _energies(profile: Profile) -> Bars:
    """By component, the one that takes most in all first."""
    total = profile.energy.spent if profile.energy else {}
    names = [name for name, spent in sorted(total.items(), key=lambda item: -item[1]) if spent]
    return [_energy(profile, name, colour) for name, colour in by_name(names).items()]


def _energy(profile: Profile, component: str, colour: str) -> dict[str, Any]:
    def microjoules(layer: LayerProfile) -> float:
        return layer.energy.spent.get(component, 0) / 1e9 if layer.energy else 0.0

    def said(layer: LayerProfile) -> str:
        return f"{component}: {microjoules(layer):.3g} uJ"

    return _bar(component, colour, list(profile.layers), microjoules, said)


def _moved(profile: Profile) -> Bars:
    colours = by_name(("in", "out"))
    layers = list(profile.layers)
    return [
        _bar("in", colours["in"], layers, lambda layer: layer.bytes_in, lambda layer: f"in: {size(layer.bytes_in)}"),
        _bar("out", colours["out"], layers, lambda layer: layer.bytes_out,
             lambda layer: f"out: {size(layer.bytes_out)}"),
    ]  # fmt: skip


def _core_time(profile: Profile) -> Bars:
    """What cores execute, and what they are held up by, the largest cause first."""
    causes = {cause for layer in profile.layers for cause, cycles in layer.stalls.items() if cycles}
    total = {cause: sum(layer.stalls.get(cause, 0) for layer in profile.layers) for cause in causes}
    names = sorted(causes, key=lambda cause: (-total[cause], cause))
    colours = by_name([EXECUTING, *(name for name in names if name != ASLEEP)])
    colours |= {ASLEEP: QUIET} if ASLEEP in causes else {}
    return [_share(profile, name, colour) for name, colour in colours.items()]


def _share(profile: Profile, cause: str, colour: str) -> dict[str, Any]:
    def share(layer: LayerProfile) -> float:
        stalled = sum(layer.stalls.values())
        cycles = max(layer.core_time - stalled, 0) if cause == EXECUTING else layer.stalls.get(cause, 0)
        return cycles / max(layer.core_time, stalled, 1)

    name = SHORT.get(cause, cause)
    return _bar(name, colour, list(profile.layers), share, lambda layer: f"{name}: {share(layer):.1%}")

"""Memory maps as text and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from rich.console import Console
from rich.text import Text

from tilewright.errors import printable
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
from tilewright.report.numbers import size

# ---- text -----------------------------------------------------------------------------------------------------------

LINES = 12
"""Of a map; each stands for a part of the memory."""
SYMBOLS = {TENSOR: "#", STREAM: "=", CONSTANT: "w", WORKING: "s", RUNTIME: "r", STATE: "k"}
STYLES = {TENSOR: "green", STREAM: "cyan", CONSTANT: "magenta", WORKING: "yellow", RUNTIME: "dim", STATE: "blue"}
MARGIN = 12


def print_maps(target: Console, maps: Sequence[MemoryMap]) -> None:
    for one in maps:
        if not one.regions:
            continue
        target.print()
        target.print(Text(_title(one), "bold"), soft_wrap=True)
        for line in _lines(one, target.width - MARGIN):
            target.print(line, soft_wrap=True)
    target.print(Text("  ".join(f"{SYMBOLS[kind]} {kind}" for kind in _shown(maps)), "dim"))


def _shown(maps: Sequence[MemoryMap]) -> list[str]:
    """Kinds to explain: few networks have states."""
    kept = any(region.kind == STATE for one in maps for region in one.regions)
    return [kind for kind in KINDS if kind != STATE or kept]


def _title(one: MemoryMap) -> str:
    remark = f" ({one.remark})" if one.remark else ""
    return f"{one.memory}: {size(one.used)} of {size(one.capacity)}{remark}; steps from left to right, bytes upward"


def _lines(one: MemoryMap, width: int) -> Iterator[Text]:
    steps, columns = len(one.steps), max(1, min(width, len(one.steps) * max(1, width // max(len(one.steps), 1) // 2)))
    height = max(one.used, 1)
    for line in reversed(range(LINES)):
        low, high = height * line // LINES, height * (line + 1) // LINES
        text = Text(f"{size(high):>{MARGIN - 2}} ", "dim")
        for column in range(columns):
            kind = _kind_at(one, low, high, column * steps // columns)
            text.append(SYMBOLS[kind] if kind else ".", STYLES[kind] if kind else "dim")
        yield text


def _kind_at(one: MemoryMap, low: int, high: int, step: int) -> str:
    """What most of a range of bytes is used for at a step; nothing if less than half of it is used."""
    found = {
        kind: sum(
            max(0, min(region.end, high) - max(region.offset, low))
            for region in one.regions
            if region.kind == kind and region.first <= step <= region.last
        )
        for kind in KINDS
    }
    most = max(found, key=lambda kind: found[kind])
    return most if 2 * sum(found.values()) >= high - low else ""


# ---- picture --------------------------------------------------------------------------------------------------------

LEFT, RIGHT, TOP, PANEL, BETWEEN, BOTTOM = 90, 30, 92, 380, 86, 150
COLOURS = {
    TENSOR: "#8ecf9e",
    STREAM: "#8cc8e8",
    CONSTANT: "#cfa8dd",
    WORKING: "#f4d58a",
    RUNTIME: "#c9ccd1",
    STATE: "#f0a58f",
}
FONT = "font-family='Helvetica, Arial, sans-serif'"
NAMED, NUMBERED = 14, 40
"""Width of a step that is labelled with its name, and distance of labels that are only numbers."""
LONGEST = 26
"""Letters of a name that stands below a picture; where one is longer, all steps have their numbers alone."""
LETTER = 6.2
"""Width of a letter at the size of labels."""


def svg(maps: Sequence[MemoryMap], network: str) -> str:
    """One panel for each memory: steps along, bytes up, a rectangle for everything that lies there."""
    shown = [one for one in maps if one.regions] or list(maps[:1])
    steps = max(len(shown[0].steps), 1)
    column = max(6.0, min(110.0, 1400.0 / steps))
    width = LEFT + column * steps + RIGHT
    width = max(width, 640.0)
    height = TOP + len(shown) * PANEL + (len(shown) - 1) * BETWEEN + BOTTOM
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height}' width='{width:.0f}' "
        f"height='{height}' {FONT} font-size='11'>",
        "<rect width='100%' height='100%' fill='white'/>",
        f"<text x='{LEFT}' y='28' font-size='17' font-weight='bold'>{_safe(network)}: memory over time</text>",
        *_legend(_shown(maps)),
    ]
    for number, one in enumerate(shown):
        parts += _panel(one, TOP + number * (PANEL + BETWEEN), column)
    parts += _step_names(shown[0], TOP + len(shown) * PANEL + (len(shown) - 1) * BETWEEN, column)
    return "\n".join([*parts, "</svg>", ""])


def _legend(kinds: Sequence[str]) -> Iterator[str]:
    at = float(LEFT)
    for kind in kinds:
        place = f"x='{at:.0f}' y='42' width='14' height='14'"
        yield f"<rect {place} fill='{COLOURS[kind]}' stroke='#555' stroke-width='.6'/>"
        yield f"<text x='{at + 20:.0f}' y='53' font-size='12'>{kind}</text>"
        at += 46 + 6.6 * len(kind)


def _panel(one: MemoryMap, top: int, column: float) -> Iterator[str]:
    steps, full = max(len(one.steps), 1), max(one.used, 1)
    width = column * steps
    yield f"<text x='{LEFT}' y='{top - 12}' font-size='13' font-weight='bold'>{_safe(_heading(one))}</text>"
    for mark in _marks(full):
        y = top + PANEL * (1 - mark / full)
        yield f"<line x1='{LEFT - 5}' x2='{LEFT + width:.1f}' y1='{y:.1f}' y2='{y:.1f}' stroke='#d8dbe0'/>"
        yield f"<text x='{LEFT - 9}' y='{y + 4:.1f}' text-anchor='end' fill='#444'>{size(mark)}</text>"
    for region in one.regions:
        yield from _rectangle(region, top, column, full)
    yield f"<rect x='{LEFT}' y='{top}' width='{width:.1f}' height='{PANEL}' fill='none' stroke='#333'/>"


def _heading(one: MemoryMap) -> str:
    remark = f": {one.remark}" if one.remark else ""
    of = f" of {one.capacity:,}" if one.capacity > one.used else ""
    return f"{one.memory}, {one.used:,}{of} bytes{remark}"


def _marks(full: int) -> Iterator[int]:
    """Round numbers of bytes, four to eight of them."""
    step = 1
    while full / step > 8:
        step *= 2
    yield from range(0, full + 1, step)


def _rectangle(region: Occupied, top: int, column: float, full: int) -> Iterator[str]:
    x, width = LEFT + column * region.first, column * (region.last - region.first + 1)
    height = PANEL * region.bytes / full
    y = top + PANEL - PANEL * region.end / full
    until = f" to {region.last}" if region.last > region.first else ""
    title = f"{region.name} ({region.kind}), {region.bytes:,} bytes at {region.offset:,}, step {region.first}{until}"
    yield (
        f"<rect x='{x:.1f}' y='{y:.2f}' width='{width:.1f}' height='{height:.2f}' fill='{COLOURS[region.kind]}' "
        f"stroke='#444' stroke-width='.6'><title>{_safe(title)}</title></rect>"
    )
    yield from _label(region, x + width / 2, y + height / 2, width, height)


def _label(region: Occupied, x: float, y: float, width: float, height: float) -> Iterator[str]:
    """The name and the bytes, as far as there is room for them."""
    letters = int((width - 8) / LETTER)
    if height < 13 or letters < 4:
        return
    # Below is written which layer it is for.
    name = region.name if len(region.name) <= letters else region.name.partition(" of ")[0]
    name = _shortened(name, letters)
    both = height >= 28 and letters >= 7
    lines = [name, size(region.bytes)] if both else [name]
    for number, line in enumerate(lines):
        at = y + 4 + 13 * (number - (len(lines) - 1) / 2)
        yield f"<text x='{x:.1f}' y='{at:.1f}' text-anchor='middle' pointer-events='none'>{_safe(line)}</text>"


def _step_names(one: MemoryMap, top: int, column: float) -> Iterator[str]:
    """Numbers of the steps, and names where there is room for them."""
    named = column >= NAMED and max(map(len, one.steps), default=0) <= LONGEST
    every = 1 if named else max(1, round(NUMBERED / column))
    for step, title in enumerate(one.steps):
        if step % every:
            continue
        x = LEFT + column * (step + 0.5)
        if not named:
            place = f"x='{x:.1f}' y='{top + 16}' text-anchor='middle' fill='#444'"
            yield f"<text {place}>{_number(title)}<title>{_safe(title)}</title></text>"
            continue
        label = _shortened(title, LONGEST)
        place = f"x='{x:.1f}' y='{top + 14}' transform='rotate(-50 {x:.1f} {top + 14})'"
        yield f"<text {place} text-anchor='end' fill='#444'>{_safe(label)}</text>"


def _number(title: str) -> str:
    """Of the layer; a view has none."""
    first = title.partition(" ")[0]
    return first if first.isdigit() else ""


def _shortened(name: str, letters: int) -> str:
    """The end of a name tells more than its beginning."""
    shown = printable(name).replace("\n", " ")
    return shown if len(shown) <= letters else "…" + shown[1 - letters :]


def _safe(text: str) -> str:
    return escape(printable(text), quote=True)

"""The widths that were tried: what each costs on the target, and what it loses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tilewright.errors import printable
from tilewright.quantiser.width_search.search import FrontPoint, Search
from tilewright.report.console import fitting_table, name_text, print_titled

SHOWN = 2
"""Names of what is in floats."""


def print_front(target: Console, search: Search, picture: Path | None) -> None:
    headings = ("", "cycles", "bytes", "SNR", "metric", "loss", "bits of weights", "16-bit tensors", "floats")
    rows = [_cells(point, point is search.chosen) for point in search.points]
    table = fitting_table(target.width, headings, rows, "bits of weights", ("16-bit tensors", "metric", "floats"))
    print_titled(target, f"bit widths on {search.target}, by {search.unit}", table)
    if picture is not None:
        target.print(Text(" front   ", "bold") + name_text(str(picture), "green"))


def _cells(point: FrontPoint, chosen: bool) -> list[str | Text]:
    metric = point.quantised.report.metric
    return [
        Text("→" if chosen else "", "bold green"), f"{point.cost.cycles:,}" if point.cost.cycles else "",
        f"{point.cost.bytes:,}", f"{point.snr_db:.1f} dB", "" if metric is None else f"{metric:.4g}",
        f"{point.loss:.4g}", shares(point), str(len(point.wide) or ""),
        _few(point.floats),
    ]  # fmt: skip


def _few(names: Sequence[str]) -> str:
    """The first of some names, and how many there are more."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(printable, names[:SHOWN])) + more


def shares(point: FrontPoint) -> str:
    """How many layers have how many bits."""
    found = {bits: list(point.bits.values()).count(bits) for bits in sorted(set(point.bits.values()), reverse=True)}
    return ", ".join(f"{count} of {bits}" for bits, count in found.items())

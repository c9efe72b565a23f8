"""All contestants with all networks in one table of Markdown: milliseconds, and MiB beyond Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar


class Row(Protocol):
    @property
    def network(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def contestant(self) -> str: ...
    @property
    def inferences(self) -> int: ...
    @property
    def resident_bytes(self) -> int: ...


AnyRow = TypeVar("AnyRow", bound=Row)


def markdown(rows: Sequence[AnyRow], seconds: Callable[[AnyRow], float], few: int) -> str:
    """With the fastest peer in bold, the first contestant's time relative to it, and a mark where a contestant was so
    slow that it computed no more than a few times."""
    names = list(dict.fromkeys(row.contestant for row in rows))
    lines = ["| network | " + " | ".join(names) + " | to the fastest peer |", "|---" * (len(names) + 2) + "|"]
    for title in dict.fromkeys((row.network, row.kind) for row in rows):
        found = {row.contestant: row for row in rows if (row.network, row.kind) == title}
        best = min((seconds(row) for name, row in found.items() if name != names[0]), default=0.0)
        cells = [_cell(found[name], seconds, few, best) if name in found else "" for name in names]
        ratio = f"{seconds(found[names[0]]) / best:.2f}" if best and names[0] in found else ""
        lines.append(f"| {' '.join(title)} | {' | '.join(cells)} | {ratio} |")
    return "\n".join(lines) + "\n"


def _cell(row: AnyRow, seconds: Callable[[AnyRow], float], few: int, best: float) -> str:
    time = f"{seconds(row) * 1e3:.3g}"
    shown = f"**{time}**" if seconds(row) == best else time
    return f"{shown}{'*' * (row.inferences <= few)} / {row.resident_bytes / 2**20:.3g}"

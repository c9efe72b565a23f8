"""What weights in blocks cost: bytes, and perplexity before and after."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from tilewright.language.weights.quantise_file import Written
from tilewright.report.console import name_text


def print_block_weights(target: Console, written: Written, path: Path) -> None:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    formats = ", ".join(f"{count:,} {name}" for name, count in sorted(written.formats.items(), key=lambda one: -one[1]))
    grid.add_row(" weights", f"{written.parameters:,}: {formats}")
    grid.add_row(" rounded", _manner(written))
    if written.before is not None and written.after is not None:
        change = written.after.value / written.before.value - 1
        values = f"{written.before.value:.4f} before, {written.after.value:.4f} after ({change:+.2%})"
        grid.add_row(" perplexity", f"{values}, of {written.after.tokens:,} tokens")
    grid.add_row(" file", name_text(f"{path}, {written.bytes:,} bytes, {written.bits:.2f} bits a weight", "green"))
    target.print(grid)


def _manner(written: Written) -> str:
    if not written.calibrated:
        return "to the nearest level, with the best scale for each block"
    return f"for what {written.calibrated:,} tokens make of them"

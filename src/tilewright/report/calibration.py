"""How well fitted costs tell what was measured."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from tilewright.calibration.measuring import Calibration
from tilewright.report.console import name_text, plain_table, print_titled


def print_calibration(target: Console, name: str, found: Calibration, path: Path, unit: str = "cycles") -> None:
    table = plain_table()
    table.add_column("kernel", no_wrap=True)
    for heading in ("samples", "median error", "largest"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(f"{unit} for each unit of its features")
    for fit in found.kernels:
        numbers = " ".join(f"{value:.4g}" for value in fit.coefficients)
        cells = [str(fit.samples), f"{fit.median_error:.1%}", f"{fit.worst_error:.1%}", numbers]
        table.add_row(fit.key, *cells)
    print_titled(target, f"costs of kernels on {name}", table)
    median = f"{len(found.kernels)} fits, median error {found.median_error:.1%}; written to "
    if found.caches:
        prices = (f"{price:.3f} ns behind level {level}" for level, price in found.caches.items())
        target.print(f" a byte of a layer with windows waits {', '.join(prices)}")
    overheads = found.overheads
    if overheads.layer:
        target.print(f" overhead: {overheads.layer:.0f} {unit} per layer, {overheads.tile:.0f} per tile")
    target.print(Text.assemble(" ", median, name_text(str(path), "green")), soft_wrap=True)

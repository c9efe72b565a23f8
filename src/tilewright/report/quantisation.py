"""What quantisation cost, as a table of the worst layers."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilewright.quantiser.cost.reporting import LayerReport, Report
from tilewright.report.console import fitting_table, name_text, print_titled

FAIR_DB, BAD_DB = 30.0, 15.0
"""Below these, noise is shown in yellow and in red."""

LETTERS = 40
"""Of a name."""


def print_quantisation(target: Console, report: Report, path: Path, picture: Path | None) -> None:
    headings = ("layer", "operator", "width", "SNR", "own SNR", "weights", "clipped", "range", "by", "what would help")
    rows = [_cells(layer) for layer in report.worst]
    optional = ("by", "weights", "own SNR", "range", "operator", "clipped")
    table = fitting_table(target.width, headings, rows, "layer", optional)
    print_titled(target, f"the {len(rows)} worst of {len(report.layers)} layers", table)
    target.print(_totals(report, path, picture))


def _cells(layer: LayerReport) -> list[str | Text]:
    style = "bold red" if layer.snr_db < BAD_DB else "yellow" if layer.snr_db < FAIR_DB else ""
    return [
        name_text(_short(layer.name)), layer.operator, layer.width, Text(f"{layer.snr_db:.1f} dB", style),
        f"{layer.own_db:.1f} dB", "" if layer.weights_db is None else f"{layer.weights_db:.1f} dB",
        f"{layer.clipped:.2%}", f"{layer.low:.3g} to {layer.high:.3g}", layer.method, layer.hint,
    ]  # fmt: skip


def _short(name: str) -> str:
    """The end of a name tells more than its beginning."""
    return name if len(name) <= LETTERS else "…" + name[1 - LETTERS :]


def _totals(report: Report, path: Path, picture: Path | None) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(" output", f"{report.snr_db:.1f} dB, top-1 as in floats on {report.agreement:.1%} of {report.samples}")
    if report.metric is not None and report.metric_float is not None:
        grid.add_row(" metric", f"{report.metric:.4g}, float {report.metric_float:.4g}")
    if report.in_c is not None:
        scored = "" if report.in_c.metric is None else f", metric {report.in_c.metric:.4g}"
        agreement = f"top-1 as in floats on {report.in_c.agreement:.1%} of {report.in_c.samples}"
        grid.add_row(" in C", f"{report.in_c.snr_db:.1f} dB, {agreement}{scored}")
    for kept in report.floats:
        grid.add_row(" float", name_text(str(kept), "yellow"))
    for note in report.notes:
        grid.add_row(" note", name_text(note, "yellow"))
    grid.add_row(" ONNX", name_text(str(path), "green"))
    if picture is not None:
        grid.add_row(" picture", name_text(str(picture), "green"))
    return grid

"""What a simulated run cost: cores and their stalls, memory traffic, devices, functions."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tilewright.report.console import count, name_text, plain_table, print_titled, size
from tilewright.report.energy import energy_parts, energy_text
from tilewright.sim.results import CoreReport, Report
from tilewright.sim.watching.traces import FunctionTime

PROFILE_ROWS = 40

HEADINGS = {"load_use": "load", "conflict": "bank"}
"""Shorter names of stall causes, so that the table fits a terminal."""


def print_report(target: Console, platform: str, report: Report) -> None:
    target.print()
    causes = [cause for cause in report.cores[0].stalls if any(core.stalls[cause] for core in report.cores)]
    table = plain_table()
    table.add_column("core", no_wrap=True, min_width=max(len(core.name) for core in report.cores))
    for heading in ("cycles", "instr.", "IPC", *(HEADINGS.get(cause, cause) for cause in causes)):
        table.add_column(heading, justify="right", no_wrap=True)
    for core in report.cores:
        table.add_row(*_core_cells(core, causes))
    print_titled(target, f"{report.cycles:,} cycles on {platform}; stalls of each core by cause, in %", table)
    _print_memories(target, report)
    busy = ", ".join(f"{name} {cycles:,}" for name, cycles in report.busy.items() if cycles)
    if busy:
        target.print(f" busy cycles: {busy}")
    if report.energy:
        target.print(f" energy: {energy_text(report.energy)}: {energy_parts(report.energy)}")
    target.print(f" {count(report.instructions)} instructions, exit code {report.exit_code}")


def print_profile(target: Console, times: Sequence[FunctionTime]) -> None:
    """Cycles per function over all cores, the longest first."""
    table = plain_table()
    table.add_column("function")
    for heading in ("cycles", "share", "asleep", "instructions"):
        table.add_column(heading, justify="right", no_wrap=True)
    total = sum(row.cycles for row in times) or 1
    for row in times[:PROFILE_ROWS]:
        cells = [f"{row.cycles:,}", f"{row.cycles / total:.1%}", f"{row.sleep:,}", f"{row.instructions:,}"]
        table.add_row(name_text(row.name), *cells)
    target.print()
    print_titled(target, f"cycles per function, all cores{_rest(len(times))}", table)


def _rest(functions: int) -> str:
    return f" (the first {PROFILE_ROWS} of {functions})" if functions > PROFILE_ROWS else ""


def _core_cells(core: CoreReport, causes: Sequence[str]) -> list[str]:
    stalls = [f"{100 * core.stalls[cause] / max(core.cycles, 1):.1f}" for cause in causes]
    return [core.name, count(core.cycles), count(core.instructions), f"{core.ipc:.2f}", *stalls]


def _print_memories(target: Console, report: Report) -> None:
    parts = []
    for name, (read, written) in report.device_bytes.items():
        cores = report.core_bytes.get(name, 0)
        if cores or read or written:
            parts.append(f"{name} {size(cores)} by cores, {size(read)} read and {size(written)} written by devices")
    if parts:
        target.print(" traffic: " + "; ".join(parts))

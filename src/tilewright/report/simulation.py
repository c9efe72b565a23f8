"""What a simulated run cost: cores and their stalls, memory traffic, devices, functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from tilewright.errors import printable
from tilewright.report.energy import energy_parts, energy_text
from tilewright.report.numbers import count, size
from tilewright.report.text_table import print_table
from tilewright.sim.results import CoreReport, Report
from tilewright.sim.watching.traces import FunctionTime

PROFILE_ROWS = 40

HEADINGS = {"load_use": "load", "conflict": "bank"}
"""Shorter names of stall causes, so that the table fits a terminal."""


def print_report(target: TextIO, platform: str, report: Report) -> None:
    causes = [cause for cause in report.cores[0].stalls if any(core.stalls[cause] for core in report.cores)]
    headings = ["core", "cycles", "instr.", "IPC", *(HEADINGS.get(cause, cause) for cause in causes)]
    title = f"\n{report.cycles:,} cycles on {platform}; stalls of each core by cause, in %"
    print_table(target, title, headings, [_core_cells(core, causes) for core in report.cores])
    print(*_totals(report), sep="\n", file=target)


def print_profile(target: TextIO, times: Sequence[FunctionTime]) -> None:
    """Cycles per function over all cores, the longest first."""
    total = sum(row.cycles for row in times) or 1
    rows = [
        (_name(row.name), f"{row.cycles:,}", f"{row.cycles / total:.1%}", f"{row.sleep:,}", f"{row.instructions:,}")
        for row in times[:PROFILE_ROWS]
    ]
    headings = ("function", "cycles", "share", "asleep", "instructions")
    print_table(target, f"\ncycles per function, all cores{_rest(len(times))}", headings, rows)


def _rest(functions: int) -> str:
    return f" (the first {PROFILE_ROWS} of {functions})" if functions > PROFILE_ROWS else ""


def _name(function: str) -> str:
    """From a file, so without control characters."""
    return printable(function).replace("\n", "\\n")


def _core_cells(core: CoreReport, causes: Sequence[str]) -> list[str]:
    stalls = [f"{100 * core.stalls[cause] / max(core.cycles, 1):.1f}" for cause in causes]
    return [core.name, count(core.cycles), count(core.instructions), f"{core.ipc:.2f}", *stalls]


def _totals(report: Report) -> Iterator[str]:
    """Of memories, devices and the whole run: a line each."""
    if traffic := list(_traffic(report)):
        yield " traffic: " + "; ".join(traffic)
    if busy := [f"{name} {cycles:,}" for name, cycles in report.busy.items() if cycles]:
        yield f" busy cycles: {', '.join(busy)}"
    if report.energy:
        yield f" energy: {energy_text(report.energy)}: {energy_parts(report.energy)}"
    yield f" {count(report.instructions)} instructions, exit code {report.exit_code}"


def _traffic(report: Report) -> Iterator[str]:
    for name, (read, written) in report.device_bytes.items():
        cores = report.core_bytes.get(name, 0)
        if cores or read or written:
            yield f"{name} {size(cores)} by cores, {size(read)} read and {size(written)} written by devices"

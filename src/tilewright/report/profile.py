"""Where the cycles of a run went."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilewright.profiling.profile import NANOSECONDS, LayerProfile, Profile
from tilewright.report.console import fitting_table, name_text, print_titled
from tilewright.report.energy import energy_parts, energy_text, microjoules
from tilewright.report.numbers import count, size

HEADINGS = (
    "#", "layer", "kernel", "mode", "tiles", "cycles", "share", "uJ", "predicted", "error", "MACs", "MAC/cycle", "in",
    "out", "waiting", "stalls",
)  # fmt: skip
BOARD_HEADINGS = (
    "#", "layer", "kernel", "cycles", "share", "instructions", "predicted", "error", "MACs", "per MAC", "stalls",
)  # fmt: skip
BYTES_HEADINGS, PEAK_HEADINGS = ("bytes", "GB/s"), ("of peak", "of bandwidth")
COMPUTER_HEADINGS = ("#", "layer", "kernel", "us", "share", "predicted", "error", "MACs", "GMAC/s")
OPTIONAL = ("MACs", "mode", "stalls", "predicted", "out", "in", "kernel", "#")
"""Columns that a narrow terminal does without, the first ones first."""
SHORT = {"load_use": "load", "conflict": "bank", "fetch": "code", "sleep": "asleep"}


def print_profile(target: Console, profile: Profile) -> None:
    if profile.unit == NANOSECONDS:
        headings, rows = _computer_table(profile)
        table = fitting_table(target.width, headings, rows, "layer", OPTIONAL)
        print_titled(target, f"{profile.network} on {profile.target}", table)
        _print_time(target, profile)
        return
    if profile.instructions is not None:
        rows = [_board_cells(profile, layer) for layer in profile.layers]
        table = fitting_table(target.width, BOARD_HEADINGS, rows, "layer", OPTIONAL)
        print_titled(target, f"{profile.network} on {profile.target}", table)
    else:
        rows = [_cells(profile, layer) for layer in profile.layers]
        table = fitting_table(target.width, HEADINGS, rows, "layer", OPTIONAL)
        print_titled(target, f"{profile.network} on {profile.target}, {profile.cores} cores", table)
    _print_totals(target, profile)


def _computer_table(profile: Profile) -> tuple[tuple[str, ...], list[list[str | Text]]]:
    """With what layers touch where that is known, and of a GPU with the parts of what it does at best."""
    has_bytes = any(layer.touched for layer in profile.layers)
    has_peaks = any(layer.peaks for layer in profile.layers)
    headings = (*COMPUTER_HEADINGS, *BYTES_HEADINGS * has_bytes, *PEAK_HEADINGS * has_peaks)
    rows = [
        [*_computer_cells(profile, one), *_touched(one) * has_bytes, *_shares(one) * has_peaks]
        for one in profile.layers
    ]
    if is_predicted(profile):
        return headings, rows
    kept = [at for at, name in enumerate(headings) if name not in ("predicted", "error")]
    return tuple(headings[at] for at in kept), [[row[at] for at in kept] for row in rows]


def is_predicted(profile: Profile) -> bool:
    """Whether predictions are of what was timed: those of a GPU's kernels are not of the same as C."""
    has_bytes = any(layer.touched for layer in profile.layers)
    return not has_bytes or any(layer.peaks for layer in profile.layers)


def _touched(layer: LayerProfile) -> list[str | Text]:
    return [size(layer.touched), f"{layer.touched / layer.cycles:.1f}" if layer.cycles else ""]


def _shares(layer: LayerProfile) -> list[str | Text]:
    if not layer.peaks:
        return ["", ""]
    return [f"{layer.peak_share:.1%}" if layer.macs else "", f"{layer.bandwidth_share:.1%}"]


def _computer_cells(profile: Profile, layer: LayerProfile) -> list[str | Text]:
    return [
        str(layer.number), name_text(layer.shown), layer.kernel, f"{layer.cycles / 1e3:.2f}",
        f"{layer.cycles / max(profile.cycles, 1):.1%}", f"{layer.predicted / 1e3:.2f}", _error(layer.error),
        count(layer.macs) if layer.macs else "", f"{layer.macs_per_cycle:.1f}" if layer.macs else "",
    ]  # fmt: skip


def _print_time(target: Console, profile: Profile) -> None:
    off = profile.predicted / max(profile.cycles, 1) - 1
    speed = f", {profile.macs_per_cycle:.1f} GMAC/s ({count(profile.macs)} MACs)" if profile.macs else ""
    predicted = f"; predicted {off:+.1%}" if is_predicted(profile) else ""
    target.print(f" time {profile.cycles / 1e3:,.1f} us in the fastest call{speed}{predicted}")
    if profile.estimate:
        target.print(f" times are {profile.estimate}")


def _board_cells(profile: Profile, layer: LayerProfile) -> list[str | Text]:
    instructions, work = layer.instructions or 0, layer.macs or layer.operations
    return [
        str(layer.number), name_text(layer.shown), layer.kernel, f"{layer.cycles:,}",
        f"{layer.cycles / profile.cycles:.1%}", f"{instructions:,}", f"{layer.predicted:,}", _error(layer.error),
        count(layer.macs) if layer.macs else "",
        f"{instructions / max(work, 1):.2f}{'' if layer.macs else ' / result'}", _stalls(layer),
    ]  # fmt: skip


def _cells(profile: Profile, layer: LayerProfile) -> list[str | Text]:
    core_time = max(layer.time.cycles * profile.cores, 1)
    buffering = " DB" if layer.double else ""
    return [
        str(layer.number), name_text(layer.shown), layer.kernel, layer.mode, f"{len(layer.tiles)}{buffering}",
        f"{layer.cycles:,}", f"{layer.cycles / profile.cycles:.1%}",
        microjoules(layer.energy) if layer.energy else "", f"{layer.predicted:,}", _error(layer.error),
        count(layer.macs) if layer.macs else "", f"{layer.macs_per_cycle:.2f}" if layer.macs else "",
        size(layer.bytes_in) if layer.bytes_in else "", size(layer.bytes_out) if layer.bytes_out else "",
        f"{layer.waiting / core_time:.1%}", _stalls(layer),
    ]  # fmt: skip


def _error(error: float) -> Text:
    style = "" if abs(error) <= 0.1 else "yellow" if abs(error) <= 0.3 else "red"
    return Text(f"{error:+.0%}", style)


def _stalls(layer: LayerProfile) -> str:
    """The two largest causes."""
    core_time = max(layer.core_time, 1)
    largest = sorted(layer.stalls.items(), key=lambda item: -item[1])[:2]
    return ", ".join(f"{SHORT.get(cause, cause)} {cycles / core_time:.0%}" for cause, cycles in largest if cycles)


def _print_totals(target: Console, profile: Profile) -> None:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    speed = f", {profile.macs_per_cycle:.2f} MAC/cycle ({count(profile.macs)} MACs)" if profile.macs else ""
    grid.add_row(" cycles", f"{profile.cycles:,}{speed}")
    off = profile.predicted / profile.cycles - 1
    median = f"median error of the layers {profile.median_error:.1%}"
    grid.add_row(" predicted", f"{profile.predicted:,} ({off:+.1%}), {median}")
    if profile.least:
        grid.add_row(" bound", f"at least {profile.least:,} cycles on this machine")
    if profile.energy:
        grid.add_row(" energy", f"{energy_text(profile.energy)}: {energy_parts(profile.energy)}")
    if profile.instructions is not None:
        each = f", {profile.instructions / profile.macs:.2f} per MAC" if profile.macs else ""
        grid.add_row(" instructions", f"{profile.instructions:,}{each}")
        if profile.estimate:
            grid.add_row(" estimate", f"cycles are {profile.estimate}")
        target.print(grid)
        return
    moved = sum(layer.bytes_in + layer.bytes_out for layer in profile.layers)
    grid.add_row(" transfers", f"{size(moved)}; cores wait for them {profile.waiting_share:.1%} of the time")
    target.print(grid)

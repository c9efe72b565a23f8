"""The table of targets and boards by what a network takes there."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tilewright.analysis.ranking import Candidate
from tilewright.report.console import name_text, plain_table, print_titled
from tilewright.report.numbers import duration, size


def print_ranking(target: Console, name: str, found: Sequence[Candidate]) -> None:
    table = plain_table()
    for heading in ("", "target", "time", "cycles", "RAM", "flash", "remark"):
        table.add_column(heading, justify="right" if heading in ("", "time", "cycles", "RAM", "flash") else "left")
    for place, one in enumerate(found, 1):
        table.add_row(str(place) if one.holds_it else "-", one.name, *_figures(one), name_text(_remark(one), "dim"))
    print_titled(target, f"{name}: predicted time and memory", table)


def _figures(one: Candidate) -> tuple[str, ...]:
    time = "" if one.milliseconds is None else duration(one.milliseconds / 1000)
    cycles = "" if one.cycles is None else f"{one.cycles:,}"
    return (
        time,
        cycles,
        *("" if bytes is None else size(bytes) for bytes in (one.planned_ram_bytes, one.constant_bytes)),
    )


def _remark(one: Candidate) -> str:
    if one.refusal:
        return one.refusal
    if one.milliseconds is not None:
        return ""
    return "fits; its clock is not known" if one.cycles is not None else "fits; cycles are not predicted"

"""What a run of an emulated core gives, from the blocks that it has executed."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.emulator.counting import Block, Event, Total
from tilewright.sim.activity import Activity
from tilewright.sim.program.elf import Elf
from tilewright.sim.results import CoreReport, Report
from tilewright.sim.watching.probes import Probe
from tilewright.sim.watching.traces import FunctionTime


def report_of(core: str, total: Total, exit_code: int | None, stdout: str) -> Report:
    alone = CoreReport(core, 0, total.cycles, total.instructions, {})
    return Report(total.cycles, exit_code, stdout, (alone,), {}, {}, {})


def activity_of(total: Total) -> Activity:
    stalled = max(total.cycles - total.instructions, 0)
    return Activity({**vars(total), "stalled": stalled, "asleep": 0, "private_refills": 0, "shared_refills": 0})


def probes_of(events: Iterable[Event]) -> list[Probe]:
    return [
        Probe(event.total.cycles, 0, event.address, event.total.instructions, {}, activity_of(event.total))
        for event in events
    ]


def function_times(elf: Elf | None, blocks: Iterable[Block]) -> list[FunctionTime]:
    """Cycles per function, the longest first, without those of jumps and waits."""
    times: dict[str, list[int]] = {}
    for block in blocks:
        name = "?" if elf is None else elf.function_at(block.address).partition("+")[0]
        found = times.setdefault(name, [0, 0])
        found[0] += block.executed * block.cost.cycles
        found[1] += block.executed * block.cost.instructions
    rows = [FunctionTime(name, cycles, instructions, 0, (cycles,)) for name, (cycles, instructions) in times.items()]
    return sorted(rows, key=lambda row: -row.cycles)

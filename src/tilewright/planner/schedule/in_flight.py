"""Where one core waits for jobs of accelerators: as late as bytes allow, from addresses alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.planner.program.program import CORES, RUN
from tilewright.planner.schedule.events import Region, TileCall
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.regions import Regions


def waits(layers: Sequence[LayerSchedule]) -> tuple[tuple[int, ...], ...]:
    """For every layer, and for the end, the submitted ones that are waited for before it: those of the same engine, if
    it has one job at a time, and those that write what it touches or read what it writes."""
    found: list[tuple[int, ...]] = []
    pending: dict[int, TileCall] = {}
    regions = Regions()
    for layer in layers:
        offloaded = layer.option.mode == "offload"
        call = regions.call(layer, CORES, RUN, 0, 0, 0) if pending or offloaded else None
        engines = {number: layers[number].option.engine for number in pending}
        due = [
            number
            for number, job in pending.items()
            if (offloaded and not layer.kernel.has_several and engines[number] == layer.option.engine)
            or (call is not None and _conflict(job, call))
        ]
        found.append(tuple(due))
        pending = {number: job for number, job in pending.items() if number not in due}
        if call is not None and offloaded:
            pending[layer.number] = replace(call, reads=()) if layer.kernel.copies_operands else call
    return (*found, tuple(pending))


def _conflict(before: TileCall, call: TileCall) -> bool:
    return _meet(before.writes, (*call.reads, *call.writes)) or _meet(before.reads, call.writes)


def _meet(some: Sequence[Region], others: Sequence[Region]) -> bool:
    return any(a.memory == b.memory and a.start < b.stop and b.start < a.stop for a in some for b in others)

"""Cycles per function and a trace for Perfetto, taken from outside: the program is not changed by being watched."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tilewright.sim.library import CProfileCell, CSpan
from tilewright.sim.platform import Kind, Platform

ASLEEP, DMA_OUT, DMA_IN, DMA_BOTH, JOB = range(0xFFFF0000, 0xFFFF0005)
NAMES = {ASLEEP: "asleep", DMA_OUT: "out", DMA_IN: "in", DMA_BOTH: "in and out", JOB: "job"}
NO_FUNCTION = "?"


@dataclass(frozen=True)
class FunctionTime:
    name: str
    cycles: int
    """Of all cores together; time asleep included."""
    instructions: int
    sleep: int
    per_core: tuple[int, ...]


def function_times(names: list[str], cells: list[CProfileCell], cores: int) -> list[FunctionTime]:
    """Functions that ran, the longest first."""
    rows = []
    for i, name in enumerate([NO_FUNCTION, *names]):
        row = cells[i * cores : (i + 1) * cores]
        per_core = tuple(int(cell.cycles) for cell in row)
        if any(per_core):
            instructions, sleep = sum(int(c.instructions) for c in row), sum(int(c.sleep) for c in row)
            rows.append(FunctionTime(name, sum(per_core), instructions, sleep, per_core))
    return sorted(rows, key=lambda row: -row.cycles)


def write_trace(path: Path, platform: Platform, names: list[str], spans: Iterable[CSpan], lost: int = 0) -> None:
    """Chrome's trace format: one microsecond stands for one cycle. `lost`: spans for which there was no room."""
    events: list[dict[str, object]] = []
    tracks = set()
    for span in spans:
        name = NAMES.get(span.name) or (names[span.name - 1] if span.name else NO_FUNCTION)
        tracks.add(int(span.track))
        events.append(
            {"name": name, "ph": "X", "pid": 0, "tid": span.track, "ts": span.start, "dur": span.end - span.start}
        )
    for track in sorted(tracks):
        arguments = {"name": _track_name(platform, track)}
        events.append({"name": "thread_name", "ph": "M", "pid": 0, "tid": track, "args": arguments})
        events.append({"name": "thread_sort_index", "ph": "M", "pid": 0, "tid": track, "args": {"sort_index": track}})
    title = f"{platform.name} (1 us = 1 cycle{f'; {lost} spans at the end are left out' if lost else ''})"
    events.append({"name": "process_name", "ph": "M", "pid": 0, "args": {"name": title}})
    path.write_text(json.dumps({"traceEvents": events}))


def _track_name(platform: Platform, track: int) -> str:
    if track < platform.cores:
        return platform.core_name(track)
    device = track - platform.cores
    if device < len(platform.devices):
        return platform.devices[device].name
    dma = next(device.name for device in platform.devices if device.kind == Kind.MCHAN)
    return f"{dma} channel {device - len(platform.devices)}"

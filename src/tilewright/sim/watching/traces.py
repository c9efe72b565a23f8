"""Cycles per function and a trace for Perfetto, taken from outside: the program is not changed by being watched."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from tilewright.records import dataclass
from tilewright.sim.library import CProfileCell, CSpan
from tilewright.sim.platform import Kind, Platform
from tilewright.whole_file import write_whole

ASLEEP, DMA_OUT, DMA_IN, DMA_BOTH, JOB = range(0xFFFF0000, 0xFFFF0005)
NAMES = {ASLEEP: "asleep", DMA_OUT: "out", DMA_IN: "in", DMA_BOTH: "in and out", JOB: "job"}
NO_FUNCTION = "?"
DMA_KINDS = (Kind.MCHAN, Kind.XDMA, Kind.MEMPOOL_DMA)


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


@dataclass(frozen=True)
class Span:
    """Something that happened on a track."""

    track: int
    name: str
    start: int
    end: int
    details: Mapping[str, str] = field(default_factory=dict)


def write_trace(path: Path, platform: Platform, names: list[str], spans: Iterable[CSpan], lost: int = 0) -> None:
    """`lost`: spans for which there was no room."""
    named = [
        Span(span.track, NAMES.get(span.name) or _function_name(names, span.name), span.start, span.end)
        for span in spans
    ]
    tracks = {track: _track_name(platform, track) for track in sorted({int(span.track) for span in named})}
    remark = f"; {lost} spans at the end are left out" if lost else ""
    write_spans(path, platform.name, tracks, named, remark)


def _function_name(names: list[str], number: int) -> str:
    return names[number - 1] if number else NO_FUNCTION


def write_spans(path: Path, title: str, tracks: Mapping[int, str], spans: Iterable[Span], remark: str = "") -> None:
    """Chrome's trace format: one microsecond stands for one cycle."""
    events: list[dict[str, object]] = []
    for span in spans:
        event = {"name": span.name, "ph": "X", "pid": 0, "tid": span.track, "ts": span.start}
        details = {"args": dict(span.details)} if span.details else {}
        events.append({**event, "dur": span.end - span.start, **details})
    for track, name in tracks.items():
        events.append({"name": "thread_name", "ph": "M", "pid": 0, "tid": track, "args": {"name": name}})
        events.append({"name": "thread_sort_index", "ph": "M", "pid": 0, "tid": track, "args": {"sort_index": track}})
    named = {"name": f"{title} (1 us = 1 cycle{remark})"}
    events.append({"name": "process_name", "ph": "M", "pid": 0, "args": named})
    write_whole(path, json.dumps({"traceEvents": events}), "--trace")


def _track_name(platform: Platform, track: int) -> str:
    if track < platform.cores:
        return platform.core_name(track)
    device = track - platform.cores
    if device < len(platform.devices):
        return platform.devices[device].name
    dma = next(device.name for device in platform.devices if device.kind in DMA_KINDS)
    return f"{dma} channel {device - len(platform.devices)}"

"""A profile as a trace: layers, kernels and waits of every core, transfers of every channel, by the names of layers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tilewright.profiling.measuring import Profiled
from tilewright.profiling.places import ENGINE_WAIT, WAITS
from tilewright.profiling.profile import LayerProfile
from tilewright.profiling.timeline import Call
from tilewright.sim.probing import Transfer
from tilewright.sim.watching import Span, write_spans

CHANNELS = 100
"""Tracks of the DMA's channels begin here."""
ENGINE = 99
"""The accelerator's track."""


def write_trace(path: Path, found: Profiled) -> None:
    profile = found.profile
    tracks = {core: f"core {core}" for core in range(profile.cores)}
    channels = sorted({transfer.channel for _, transfer in found.timeline.transfers})
    tracks |= {ENGINE: "accelerator"} if found.timeline.jobs else {}
    tracks |= {CHANNELS + channel: f"DMA channel {channel}" for channel in channels}
    spans = [*_layers(found), *_kernels(found), *_besides(found), *_waits(found), *_jobs(found), *_transfers(found)]
    write_spans(path, f"{profile.network} on {profile.target}", tracks, spans)


def _layers(found: Profiled) -> Iterator[Span]:
    for core, starts in found.timeline.starts.items():
        for layer, begun, ended in zip(found.profile.layers, starts, starts[1:], strict=False):
            yield Span(core, _title(layer), begun.cycle, ended.cycle, {"kernel": layer.kernel, "mode": layer.mode})


def _kernels(found: Profiled) -> Iterator[Span]:
    for layer in found.profile.layers:
        for tile in layer.tiles:
            for core, time in tile.calls.items():
                details = {"layer": layer.name, "tile": str(tile.number)}
                yield Span(core, f"{layer.kernel}, tile {tile.number}", time.start, time.end, details)


BESIDES = {"gather": "gathered", "finish": "finished"}
"""What cores do for an accelerator, and how it is called."""


def _besides(found: Profiled) -> Iterator[Span]:
    for call in found.timeline.calls:
        if call.kind in BESIDES:
            title = f"{found.profile.layers[call.layer].kernel} {BESIDES[call.kind]}, tile {call.turn}"
            yield Span(call.core, title, call.time.start, call.time.end, {})


def _waits(found: Profiled) -> Iterator[Span]:
    for call in found.timeline.calls:
        if call.kind in WAITS or call.kind == ENGINE_WAIT:
            what = "waits for the accelerator" if call.kind == ENGINE_WAIT else "waits for transfers"
            yield Span(call.core, what, call.time.start, call.time.end, {})


def _jobs(found: Profiled) -> Iterator[Span]:
    for job in found.timeline.jobs:
        title = f"{_title(found.profile.layers[job.layer])}, tile {job.tile}"
        yield Span(ENGINE, title, job.time.start, job.time.end, {})


def _transfers(found: Profiled) -> Iterator[Span]:
    """The commands of one call are one span: they share a channel and overlap."""
    groups: dict[Call, list[Transfer]] = defaultdict(list)
    for call, transfer in found.timeline.transfers:
        groups[call].append(transfer)
    for call, group in groups.items():
        size, direction = sum(transfer.bytes for transfer in group), "in" if group[0].is_in else "out"
        details = {"bytes": str(size), "commands": str(len(group)), "core": str(call.core), "function": call.kind}
        title = f"{direction}: {_title(found.profile.layers[call.layer])}"
        start, end = min(transfer.start for transfer in group), max(transfer.end for transfer in group)
        yield Span(CHANNELS + group[0].channel, title, start, end, details)


def _title(layer: LayerProfile) -> str:
    return f"{layer.number} {layer.name}"

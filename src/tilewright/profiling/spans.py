"""What cores, accelerators and the DMA did when, as spans on tracks: for traces and pictures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field

from tilewright.profiling.measuring import Profiled
from tilewright.profiling.places import ENGINE_WAIT, TRANSFER_WAIT
from tilewright.profiling.profile import LayerProfile
from tilewright.profiling.timeline import CallInterval
from tilewright.records import dataclass
from tilewright.sim.watching.probes import Transfer

LAYER, KERNEL, BESIDE, WAIT, JOB, TRANSFER_IN, TRANSFER_OUT = (
    "layer", "kernel", "for an accelerator", "waits", "job", "transfer in", "transfer out",
)  # fmt: skip
KINDS = (LAYER, KERNEL, BESIDE, WAIT, JOB, TRANSFER_IN, TRANSFER_OUT)
"""What a core has begun and not left, what it computes, what it does for an accelerator, what it waits for; what an
accelerator does; what the DMA moves."""

CHANNELS = 100
"""Tracks of the DMA's channels begin here."""
ENGINES = 80
"""Tracks of accelerators begin here."""

BESIDES = {"gather": "gathered", "finish": "finished"}
"""What cores do for an accelerator, and how it is called."""


@dataclass(frozen=True)
class Doing:
    """Something that happened on a track, for a layer."""

    track: int
    kind: str
    layer: int
    name: str
    start: int
    end: int
    details: Mapping[str, str] = field(default_factory=dict)


def tracks(found: Profiled) -> dict[int, str]:
    """Their names: cores, the accelerator, channels of the DMA."""
    cores = found.profile.cores
    named = {core: f"core {core}" if core < cores else f"core {core} (DMA)" for core in found.timeline.starts}
    named |= {ENGINES + at: name or "accelerator" for at, name in enumerate(_devices(found))}
    channels = sorted({transfer.channel for _, transfer in found.timeline.transfers})
    return dict(sorted(named.items())) | {CHANNELS + channel: f"DMA channel {channel}" for channel in channels}


def _devices(found: Profiled) -> list[str]:
    return sorted({job.device for job in found.timeline.jobs})


def spans(found: Profiled) -> Iterator[Doing]:
    """All of them; those of a kind that lie within others come after them."""
    for part in (_layers, _kernels, _besides, _waits, _jobs, _transfers):
        yield from part(found)


def title(layer: LayerProfile) -> str:
    return f"{layer.number} {layer.shown}"


def _layers(found: Profiled) -> Iterator[Doing]:
    for core, starts in found.timeline.starts.items():
        for layer, begun, ended in zip(found.profile.layers, starts, starts[1:], strict=False):
            details = {"kernel": layer.kernel, "mode": layer.mode}
            yield Doing(core, LAYER, layer.number, title(layer), begun.cycle, ended.cycle, details)


def _kernels(found: Profiled) -> Iterator[Doing]:
    """Of a declared accelerator the kernel is its driver."""
    declared = _devices(found)
    for layer in found.profile.layers:
        for tile in layer.tiles:
            for core, time in tile.calls.items():
                name, details = f"{layer.kernel}, tile {tile.number}", {"layer": layer.name, "tile": str(tile.number)}
                yield Doing(
                    core,
                    BESIDE if layer.engine in declared else KERNEL,
                    layer.number,
                    name,
                    time.start,
                    time.end,
                    details,
                )


def _besides(found: Profiled) -> Iterator[Doing]:
    for call in found.timeline.calls:
        if call.kind in BESIDES:
            name = f"{found.profile.layers[call.layer].kernel} {BESIDES[call.kind]}, tile {call.turn}"
            yield Doing(call.core, BESIDE, call.layer, name, call.time.start, call.time.end)


def _waits(found: Profiled) -> Iterator[Doing]:
    for call in found.timeline.calls:
        if call.kind in (TRANSFER_WAIT, ENGINE_WAIT):
            name = "waits for the accelerator" if call.kind == ENGINE_WAIT else "waits for transfers"
            yield Doing(call.core, WAIT, call.layer, name, call.time.start, call.time.end)


def _jobs(found: Profiled) -> Iterator[Doing]:
    devices = _devices(found)
    for job in found.timeline.jobs:
        name = f"{title(found.profile.layers[job.layer])}, tile {job.tile}"
        yield Doing(ENGINES + devices.index(job.device), JOB, job.layer, name, job.time.start, job.time.end)


def _transfers(found: Profiled) -> Iterator[Doing]:
    """The commands of one call are one span: they share a channel and overlap."""
    groups: dict[CallInterval, list[Transfer]] = defaultdict(list)
    for call, transfer in found.timeline.transfers:
        groups[call].append(transfer)
    for call, group in groups.items():
        size, direction = sum(transfer.bytes for transfer in group), "in" if group[0].is_in else "out"
        details = {"bytes": str(size), "commands": str(len(group)), "core": str(call.core), "function": call.kind}
        name = f"{direction}: {title(found.profile.layers[call.layer])}"
        start, end = min(transfer.start for transfer in group), max(transfer.end for transfer in group)
        kind = TRANSFER_IN if group[0].is_in else TRANSFER_OUT
        yield Doing(CHANNELS + group[0].channel, kind, call.layer, name, start, end, details)

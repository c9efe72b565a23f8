"""Events of probes: when a core passed a place in the code, and what it had waited for until then."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence, Set

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim.activity import STALL_CAUSES, Activity, activity_of

ARGUMENTS = 8
EVENT = struct.Struct(f"=QQ{len(STALL_CAUSES)}QIIII{ARGUMENTS}I")
"""probe_event in engine/sim.h."""
NO_METER = 0xFFFF_FFFF

TRANSFER = struct.Struct("=QQIIII")
"""dma_transfer in engine/sim.h."""

JOB = struct.Struct("=QQQ")
"""engine_job in engine/sim.h."""


@dataclass(frozen=True)
class Transfer:
    """What the DMA did on a core's command, from the command to the last byte."""

    start: int
    end: int
    core: int
    is_in: bool
    """Into the memory that the cores share (L1)."""
    bytes: int
    channel: int


@dataclass(frozen=True)
class EngineJob:
    """What an accelerator did."""

    device: str
    """Its name."""
    start: int
    end: int


@dataclass(frozen=True)
class Probe:
    """A core is about to execute the instruction at an address."""

    cycle: int
    core: int
    address: int
    instructions: int
    """Executed by this core before this one."""
    stalls: dict[str, int]
    """Cycles by cause since the core was started: the difference of two events is what a region waited for."""
    activity: Activity | None = None
    """What the whole platform had done by then, if asked for."""
    arguments: tuple[int, ...] = ()
    """a0 to a7: what a function is called with, or has returned."""


def core_flags(cores: Set[int], count: int) -> bytes:
    return bytes(core in cores for core in range(count))


def noted(library: ctypes.CDLL, simulator: int, memories: Iterable[str]) -> list[Probe]:
    count, lost = ctypes.c_uint32(), ctypes.c_uint32()
    events = library.tw_probe_events(simulator, ctypes.byref(count), ctypes.byref(lost))
    if lost.value:
        what = f"passed {count.value + lost.value} times, and only the first {count.value} events are kept"
        raise CompileError("probes", what, "probe fewer places, or a shorter part of the run")
    data = ctypes.string_at(events, count.value * EVENT.size) if count.value else b""
    meters = _meters(library, simulator, list(memories))
    return [
        Probe(
            cycle, core, address, instructions, dict(zip(STALL_CAUSES, stalls, strict=True)),
            None if meter == NO_METER else meters[meter], tuple(rest[-ARGUMENTS:]),
        )
        for cycle, instructions, *rest in EVENT.iter_unpack(data)
        for *stalls, core, address, meter, _ in [rest[:-ARGUMENTS]]
    ]  # fmt: skip


def _meters(library: ctypes.CDLL, simulator: int, memories: list[str]) -> list[Activity]:
    count = ctypes.c_uint32()
    found = library.tw_probe_meters(simulator, ctypes.byref(count))
    return [activity_of(found[i], memories) for i in range(count.value)]


def transfers(library: ctypes.CDLL, simulator: int) -> list[Transfer]:
    count = ctypes.c_uint32()
    found = library.tw_probe_transfers(simulator, ctypes.byref(count))
    data = ctypes.string_at(found, count.value * TRANSFER.size) if count.value else b""
    return [
        Transfer(start, end, core, bool(is_in), size, channel)
        for start, end, core, is_in, size, channel in TRANSFER.iter_unpack(data)
    ]


def jobs(library: ctypes.CDLL, simulator: int, devices: Sequence[str]) -> list[EngineJob]:
    count = ctypes.c_uint32()
    found = library.tw_probe_jobs(simulator, ctypes.byref(count))
    data = ctypes.string_at(found, count.value * JOB.size) if count.value else b""
    return [EngineJob(devices[number], start, end) for start, end, number in JOB.iter_unpack(data)]

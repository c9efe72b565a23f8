"""From what probes noted to what each core did when: calls of layers' functions, waits, transfers they started."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tilewright.profiling.places import COMMIT, ENGINE_WAIT, FETCH, START, TRANSFER_WAIT, Place
from tilewright.profiling.profile import Interval
from tilewright.records import dataclass
from tilewright.sim.activity import Activity
from tilewright.sim.watching.probes import EngineJob, Probe, Transfer

PREFETCH = "early"
FETCHING = frozenset({PREFETCH, "load", "renew", "store"})
"""Functions that start transfers; the first one those of a layer's constants."""


@dataclass(frozen=True)
class CallInterval:
    """A core in a function of a layer, or waiting in one."""

    core: int
    kind: str
    layer: int
    turn: int
    """How many calls of this function this core has made before."""
    time: Interval


@dataclass(frozen=True)
class Start:
    """A core begins a layer."""

    cycle: int
    stalls: Mapping[str, int]
    """Since the core was started."""
    activity: Activity | None = None
    """Of the whole platform until then."""


@dataclass(frozen=True)
class JobInterval:
    """An accelerator at work for a tile."""

    layer: int
    tile: int
    time: Interval
    device: str = ""
    """The name of a declared one; empty for the target's own."""


@dataclass(frozen=True)
class Jobs:
    """What accelerators did, and for whom."""

    noted: Sequence[EngineJob]
    layers: Mapping[str, Sequence[int]]
    """Of declared accelerators, by their names: those that they compute, in order."""

    @property
    def own(self) -> list[EngineJob]:
        """Of the target's own accelerator."""
        return [job for job in self.noted if job.device not in self.layers]


@dataclass(frozen=True)
class Timeline:
    """Cycles count from the call of the network."""

    starts: Mapping[int, tuple[Start, ...]]
    """By core: of every layer, and of what follows the last one."""
    calls: tuple[CallInterval, ...]
    transfers: tuple[tuple[CallInterval, Transfer], ...]
    """With the calls that started them."""
    jobs: tuple[JobInterval, ...]


def timeline(
    events: Sequence[Probe], transfers: Iterable[Transfer], jobs: Jobs,
    known: Mapping[int, Place], fetched: Sequence[int], dma_core: int,
) -> Timeline:  # fmt: skip
    """`fetched`: the layers in the order in which their constants are fetched, by the core that moves data."""
    cores: dict[int, list[Probe]] = defaultdict(list)
    for event in events:
        cores[event.core].append(event)
    origin = next(event.cycle for event in cores[0] if known[event.address].layer < 0)
    lanes = {core: _Lane(core, origin, fetched) for core in cores}
    for core, own in cores.items():
        for event in own:
            lanes[core].take(event, known[event.address])
        lanes[core].close(own[-1])
    calls = tuple(call for lane in lanes.values() for call in lane.calls)
    starts = {core: tuple(lane.starts) for core, lane in lanes.items()}
    # Jobs are done in the order in which they were submitted.
    pairs = zip(lanes[dma_core].in_flight, jobs.own, strict=False)
    done = tuple(
        JobInterval(layer, tile, Interval(job.start - origin, job.end - origin)) for (layer, tile), job in pairs
    )
    begins = {
        device: [(min(own[layer].cycle for own in starts.values()), layer) for layer in layers]
        for device, layers in jobs.layers.items()
    }
    return Timeline(
        starts, calls, tuple(_with_calls(transfers, calls, origin)), done + declared_jobs(jobs.noted, begins, origin)
    )


def declared_jobs(
    jobs: Iterable[EngineJob], begins: Mapping[str, Sequence[tuple[int, int]]], origin: int
) -> tuple[JobInterval, ...]:
    """Those of declared accelerators. A job is of the layer that was begun last.

    `begins`: by the accelerator's name, when its layers were begun and their numbers, in order.
    """
    found, tiles = [], dict[int, int]()
    for job in jobs:
        time = Interval(job.start - origin, job.end - origin)
        begun = [layer for cycle, layer in begins.get(job.device, ()) if cycle <= time.start]
        if begun:
            tiles[begun[-1]] = tiles.get(begun[-1], -1) + 1
            found.append(JobInterval(begun[-1], tiles[begun[-1]], time, job.device))
    return tuple(found)


class _Lane:
    """One core's events, as they come."""

    def __init__(self, core: int, origin: int, fetched: Sequence[int]) -> None:
        self.core, self.origin, self._fetched = core, origin, iter(fetched)
        self.starts: list[Start] = []
        self.calls: list[CallInterval] = []
        self.in_flight: list[tuple[int, int]] = []
        """Layer and tile of every job."""
        self._open: CallInterval | None = None
        self._running: tuple[int, int] | None = None
        """Layer and tile whose jobs are given; transfers of others may begin meanwhile."""
        self._turns: dict[tuple[str, int], int] = defaultdict(int)

    def take(self, event: Probe, place: Place) -> None:
        if place.kind == COMMIT:
            if self._running is not None:
                self.in_flight.append(self._running)
            return
        # Ends what was called last, also where it returns to a function that is not looked at.
        self._return(event.cycle - self.origin)
        if place.kind == START:
            self.starts.append(self._start(event))
        elif place.kind == FETCH:
            self._enter(event.cycle - self.origin, Place(PREFETCH, next(self._fetched)))
        elif place.layer >= 0 or place.kind in (TRANSFER_WAIT, ENGINE_WAIT):
            self._enter(event.cycle - self.origin, place)

    def close(self, last: Probe) -> None:
        self.starts.append(self._start(last))

    def _start(self, event: Probe) -> Start:
        return Start(event.cycle - self.origin, event.stalls, event.activity)

    def _enter(self, cycle: int, place: Place) -> None:
        layer = place.layer if place.layer >= 0 else len(self.starts) - 1
        turn = self._turns[place.kind, layer]
        self._turns[place.kind, layer] += 1
        self._open = CallInterval(self.core, place.kind, layer, turn, Interval(cycle, cycle))
        if place.kind == "run":
            self._running = layer, turn

    def _return(self, cycle: int) -> None:
        call, self._open = self._open, None
        if call is not None:
            self.calls.append(
                CallInterval(call.core, call.kind, call.layer, call.turn, Interval(call.time.start, cycle))
            )


def _with_calls(
    transfers: Iterable[Transfer], calls: Iterable[CallInterval], origin: int
) -> Iterable[tuple[CallInterval, Transfer]]:
    """A core's command belongs to the function that it was in."""
    starting: dict[int, list[CallInterval]] = defaultdict(list)
    for call in calls:
        if call.kind in FETCHING:
            starting[call.core].append(call)
    begins = {core: [call.time.start for call in own] for core, own in starting.items()}
    for transfer in transfers:
        start = transfer.start - origin
        at = bisect_right(begins.get(transfer.core, []), start) - 1
        if at >= 0:
            shifted = Transfer(
                start, transfer.end - origin, transfer.core, transfer.is_in, transfer.bytes, transfer.channel
            )
            yield starting[transfer.core][at], shifted

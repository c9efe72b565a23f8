"""What the core that moves data does, tile by tile, in the order of the runtime's loops."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tilewright.ir.graph import Graph
from tilewright.planner.home import ARENA, Home
from tilewright.planner.keys import PARAMS
from tilewright.planner.schedule.events import DMA, Begin, Event, Region, Spans, Transfer, Wait, WaitJob, window_region
from tilewright.planner.schedule.regions import own_buffer
from tilewright.planner.schedule.tile_schedule import (
    COOPERATIVE,
    COOPERATIVE_ONCE,
    DMA_COPY,
    IN_L2,
    OFFLOAD,
    OFFLOAD_ONCE,
    OFFLOAD_QUEUED,
    OFFLOAD_STARVED,
    PER_CORE,
    SUBMIT,
    SUBMIT_AHEAD,
    LayerSchedule,
)
from tilewright.planner.schedule.unrolled_moves import BARRIER, Moves, Stream, waits


@dataclass
class DmaCore:
    moves: Moves
    graph: Graph
    jobs: int = 0
    fetched: dict[int, int] = field(default_factory=dict)
    """Layer -> the group of what was prefetched for it."""
    submitted: dict[int, int] = field(default_factory=dict)
    """Layer -> its last job."""
    staging: list[int] = field(default_factory=list)
    """Groups of constants in flight from L3."""

    def events(self) -> Stream:
        for layer in self.moves.schedule.layers:
            yield from self._before(layer)
            yield from _LOOPS[layer.loop](self, layer)
        yield from self._wait_for(self.moves.schedule.last_waits)
        yield BARRIER

    def _before(self, layer: LayerSchedule) -> Stream:
        yield from self._wait_for(layer.waits_for)
        if layer.stages_first:
            yield from self._stage(layer.number)
        if layer.waits_for_staged:
            yield from self._stage(layer.stages_next)
        if layer.prefetches_first:
            yield BARRIER
            yield from self._prefetch(layer.number)

    def _wait_for(self, numbers: tuple[int, ...]) -> Stream:
        for number in numbers:
            yield WaitJob(DMA, self.submitted.pop(number))
            if self.moves.schedule.layers[number].has_epilogue:
                yield BARRIER

    def _stage(self, number: int | None) -> Stream:
        yield BARRIER
        yield from (Wait(DMA, group) for group in self.staging)
        self.staging.clear()
        if number is None:
            return
        l2, l3 = self.moves.memories.l2.name, self.moves.memories.l3
        link = self.moves.memories.udma.name if self.moves.memories.udma else ""
        for staged in self.moves.schedule.layers[number].staged:
            kind = self.graph.types[staged.constant]
            spans: Spans = tuple((0, size) for size in kind.shape)
            home = Home("constant", staged.constant, l3.name if l3 else "")
            source = window_region(home, staged.constant, kind, None, spans)
            target = window_region(Home(ARENA, staged.constant, l2, staged.offset), staged.constant, kind, None, spans)
            moved = [replace(region, stop=region.start + staged.bytes) for region in (source, target)]
            self.staging.append(self.moves.begin())
            yield Begin(DMA, self.moves.groups, link)
            yield Transfer(DMA, link, self.moves.groups, number, 0, *moved)

    def _prefetch(self, number: int) -> Stream:
        layer = self.moves.schedule.layers[number]
        if layer.prefetch is None:
            return
        group = self.moves.begin()
        self.fetched[number] = group
        yield Begin(DMA, group, self.moves.memories.dma.name)
        if layer.prefetch.copies:
            yield self.moves.copy(layer, group)
        if layer.params is not None:
            target = own_buffer(layer.params, PARAMS, 0, 0, ())
            source = Region(f"params {number}", 0, layer.params.bytes, PARAMS, (), role=PARAMS)
            yield Transfer(DMA, self.moves.memories.dma.name, group, number, 0, source, target)
        for move in layer.prefetch.moves:
            yield self.moves.transfer(layer, move, group, DMA, 0, 0, 0)

    def _take_turn(self, layer: LayerSchedule) -> Stream:
        if layer.number in self.fetched:
            yield Wait(DMA, self.fetched.pop(layer.number))

    def _next(self, layer: LayerSchedule) -> Stream:
        for number in layer.prefetches:
            yield from self._prefetch(number)

    def _cooperative(self, layer: LayerSchedule) -> Stream:
        if layer.loads:
            yield BARRIER
        loading = yield from self.moves.moves(layer, layer.loads, DMA, 0, 0, 0)
        storing: int | None = None
        yield from self._take_turn(layer)
        for tile in range(layer.tiles):
            yield from waits(DMA, loading, storing)
            loading = storing = None
            yield BARRIER
            if layer.buffers > 1:
                if tile > 0:
                    storing = yield from self.moves.moves(layer, layer.stores, DMA, tile - 1, tile - 1, 0)
                if tile + 1 < layer.tiles:
                    loading = yield from self.moves.moves(layer, layer.loads, DMA, tile + 1, tile + 1, 0)
            if tile + 1 == layer.tiles:
                yield from self._next(layer)
            elif layer.buffers == 1:
                yield BARRIER
                stored = yield from self.moves.moves(layer, layer.stores, DMA, tile, tile, 0)
                yield from waits(DMA, stored)
                loading = yield from self.moves.moves(layer, layer.loads, DMA, tile + 1, tile + 1, 0)
        if layer.stores:
            yield BARRIER
            last = yield from self.moves.moves(layer, layer.stores, DMA, layer.tiles - 1, layer.tiles - 1, 0)
            yield from waits(DMA, storing, last)

    def _cooperative_once(self, layer: LayerSchedule) -> Stream:
        yield from self._take_turn(layer)
        yield BARRIER
        yield from self._next(layer)

    def _aside(self, layer: LayerSchedule) -> Stream:
        """While cores have tiles of their own, or one works in L2."""
        yield from self._take_turn(layer)
        yield BARRIER
        yield from self._next(layer)
        yield BARRIER

    def _dma_copy(self, layer: LayerSchedule) -> Stream:
        if layer.prefetches:
            yield BARRIER
        yield from self._next(layer)
        yield from self._take_turn(layer)

    def _offload(self, layer: LayerSchedule) -> Stream:
        jobs = [-1, -1]
        yield BARRIER
        loading = yield from self.moves.moves(layer, layer.loads, DMA, 0, 0, 0)
        yield from self._take_turn(layer)
        yield from waits(DMA, loading)
        yield from self._start(layer, 0, jobs)
        loading = storing = None
        if layer.buffers > 1 and layer.tiles > 1:
            loading = yield from self.moves.moves(layer, layer.loads, DMA, 1, 1, 0)
        for tile in range(layer.tiles):
            if layer.buffers > 1 and tile + 1 < layer.tiles:
                if not layer.submits_early:
                    yield from waits(DMA, loading, storing)
                    loading = storing = None
                yield from self._start(layer, tile + 1, jobs)
            yield WaitJob(DMA, jobs[tile % 2])
            if layer.has_epilogue:
                yield BARRIER
                yield BARRIER
            if layer.submits_early:
                yield from waits(DMA, loading)
                loading = None
            if layer.buffers > 1 and tile + 2 < layer.tiles:
                loading = yield from self.moves.moves(layer, layer.loads, DMA, tile + 2, tile + 2, 0)
            yield from waits(DMA, storing)
            storing = yield from self.moves.moves(layer, layer.stores, DMA, tile, tile, 0)
            if layer.buffers == 1 and tile + 1 < layer.tiles:
                yield from waits(DMA, storing)
                storing = None
                loading = yield from self.moves.moves(layer, layer.loads, DMA, tile + 1, tile + 1, 0)
                yield from waits(DMA, loading)
                loading = None
                yield from self._start(layer, tile + 1, jobs)
        yield from waits(DMA, storing)

    def _offload_starved(self, layer: LayerSchedule) -> Stream:
        """What is loaded for the tile after the next is on its way before the next is submitted."""
        jobs = [-1, -1]
        yield BARRIER
        loading = yield from self.moves.moves(layer, layer.loads, DMA, 0, 0, 0)
        yield from self._take_turn(layer)
        yield from waits(DMA, loading)
        loading = storing = None
        if layer.tiles > 1:
            loading = yield from self.moves.moves(layer, layer.loads, DMA, 1, 1, 0)
        yield from self._start(layer, 0, jobs)
        for tile in range(layer.tiles):
            yield from waits(DMA, loading, storing)
            loading = None
            yield WaitJob(DMA, jobs[tile % 2])
            if tile + 2 < layer.tiles:
                loading = yield from self.moves.moves(layer, layer.loads, DMA, tile + 2, tile + 2, 0)
            if tile + 1 < layer.tiles:
                yield from self._start(layer, tile + 1, jobs)
            storing = yield from self.moves.moves(layer, layer.stores, DMA, tile, tile, 0)
        yield from waits(DMA, storing)

    def _offload_queued(self, layer: LayerSchedule) -> Stream:
        """A tile ends while jobs of the next are given: here, as late as that may be."""
        jobs = [-1, -1]
        yield BARRIER
        renewing = yield from self.moves.moves(layer, layer.renewals, DMA, 0, 0, 0)
        loading = yield from self.moves.moves(layer, layer.tile_loads, DMA, 0, 0, 0)
        yield from self._take_turn(layer)
        yield from waits(DMA, renewing, loading)
        yield from self._start(layer, 0, jobs)
        loading = storing = None
        if layer.tiles > 1:
            loading = yield from self.moves.moves(layer, layer.tile_loads, DMA, 1, 1, 0)
        for tile in range(1, layer.tiles):
            yield from waits(DMA, loading, storing)
            loading = None
            if tile % layer.held_tiles == 0:
                yield WaitJob(DMA, jobs[(tile - 1) % 2])
                renewing = yield from self.moves.moves(layer, layer.renewals, DMA, tile, tile, 0)
                yield from waits(DMA, renewing)
            yield from self._start(layer, tile, jobs)
            yield WaitJob(DMA, jobs[(tile - 1) % 2])
            if tile + 1 < layer.tiles:
                loading = yield from self.moves.moves(layer, layer.tile_loads, DMA, tile + 1, tile + 1, 0)
            storing = yield from self.moves.moves(layer, layer.stores, DMA, tile - 1, tile - 1, 0)
        yield from waits(DMA, storing)
        yield WaitJob(DMA, jobs[(layer.tiles - 1) % 2])
        storing = yield from self.moves.moves(layer, layer.stores, DMA, layer.tiles - 1, layer.tiles - 1, 0)
        yield from waits(DMA, storing)

    def _start(self, layer: LayerSchedule, tile: int, jobs: list[int]) -> Stream:
        yield from self._meet_to_gather(layer)
        yield self._submit_tile(layer, tile)
        jobs[tile % 2] = self.jobs
        if tile + 1 == layer.tiles:
            yield from self._next(layer)

    def _meet_to_gather(self, layer: LayerSchedule) -> Stream:
        """When operands are there, and when the cores have gathered them."""
        if layer.has_prologue:
            yield BARRIER
            yield BARRIER

    def _describe(self, layer: LayerSchedule) -> Stream:
        """Its jobs are described before the others have come, and submitted then."""
        yield from self._take_turn(layer)
        yield BARRIER
        yield self._submit_tile(layer, 0)
        self.submitted[layer.number] = self.jobs
        yield from self._next(layer)

    def _offload_once(self, layer: LayerSchedule) -> Stream:
        yield from self._describe(layer)
        yield WaitJob(DMA, self.submitted.pop(layer.number))
        if layer.has_epilogue:
            yield BARRIER

    def _submit(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        loading = yield from self.moves.moves(layer, layer.loads, DMA, 0, 0, 0)
        yield from self._take_turn(layer)
        yield from waits(DMA, loading)
        yield from self._meet_to_gather(layer)
        yield self._submit_tile(layer, 0)
        self.submitted[layer.number] = self.jobs
        yield from self._next(layer)

    def _submit_tile(self, layer: LayerSchedule, tile: int) -> Event:
        self.jobs += 1
        return self.moves.regions.call(layer, DMA, "submit", tile, tile, 0, self.jobs)


_LOOPS = {
    COOPERATIVE: DmaCore._cooperative, COOPERATIVE_ONCE: DmaCore._cooperative_once, PER_CORE: DmaCore._aside,
    IN_L2: DmaCore._aside, DMA_COPY: DmaCore._dma_copy, OFFLOAD: DmaCore._offload,
    OFFLOAD_QUEUED: DmaCore._offload_queued, OFFLOAD_STARVED: DmaCore._offload_starved,
    OFFLOAD_ONCE: DmaCore._offload_once, SUBMIT: DmaCore._submit, SUBMIT_AHEAD: DmaCore._describe,
}  # fmt: skip

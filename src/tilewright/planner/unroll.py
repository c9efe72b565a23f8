"""What a schedule's loops mean, tile by tile: the same order of transfers, calls, waits and barriers as that of the
runtime's loops (runtime/pipeline.c and offload.c), which a test holds against these."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace

from tilewright.errors import InternalError
from tilewright.ir.graph import Graph
from tilewright.planner.events import (
    CORES,
    DMA,
    Begin,
    Epoch,
    Event,
    Region,
    Spans,
    Transfer,
    Wait,
    WaitJob,
    core,
    window_region,
)
from tilewright.planner.home import ARENA, Home
from tilewright.planner.keys import PARAMS
from tilewright.planner.regions import Regions, own_buffer
from tilewright.planner.tile_schedule import (
    COOPERATIVE,
    COOPERATIVE_ONCE,
    DMA_COPY,
    IN_L2,
    OFFLOAD,
    OFFLOAD_ONCE,
    PER_CORE,
    SUBMIT,
    SUBMIT_AHEAD,
    ClusterSchedule,
    LayerSchedule,
    Move,
    Slots,
)
from tilewright.target.memory import Hierarchy


@dataclass(frozen=True)
class Barrier:
    """Where all agents meet."""


BARRIER = Barrier()
Stream = Iterator[Event | Barrier]


def unroll(schedule: ClusterSchedule, graph: Graph, memories: Hierarchy) -> tuple[Epoch, ...]:
    unroller = _Unroller(schedule, graph, memories)
    return tuple(_epochs(unroller.dma_core(), unroller.cores()))


def _epochs(dma_core: Stream, workers: Stream) -> Iterator[Epoch]:
    """Both sides between their barriers. What the DMA core does comes first where both are at the same place."""
    while True:
        own, more = _until_barrier(dma_core)
        others, more_others = _until_barrier(workers)
        yield (*own, *others)
        if more != more_others:
            raise InternalError("schedule", "the DMA core and the others meet at different numbers of barriers")
        if not more:
            return


def _until_barrier(stream: Stream) -> tuple[list[Event], bool]:
    found: list[Event] = []
    for event in stream:
        if isinstance(event, Barrier):
            return found, True
        found.append(event)
    return found, False


@dataclass
class _Unroller:
    schedule: ClusterSchedule
    graph: Graph
    memories: Hierarchy
    regions: Regions = field(default_factory=Regions)
    groups: int = 0
    jobs: int = 0
    fetched: dict[int, int] = field(default_factory=dict)
    """Layer -> the group of what was prefetched for it."""
    submitted: dict[int, int] = field(default_factory=dict)
    """Layer -> its last job."""
    staging: list[int] = field(default_factory=list)
    """Groups of constants in flight from L3."""
    marks: dict[tuple[int, str, int], int] = field(default_factory=dict)
    """(layer, operand, offset of its staging buffer) -> the last transfer between that and L3."""
    in_l3: dict[str, list[int]] = field(default_factory=dict)
    """Agent -> groups of its transfers between L2 and L3 that it has not waited for."""

    # ---- the core that moves data -----------------------------------------------------------------------------------

    def dma_core(self) -> Stream:
        for layer in self.schedule.layers:
            yield from self._before(layer)
            yield from _DMA_SIDE[layer.loop](self, layer)
        yield from self._wait_for(self.schedule.last_waits)
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
            if self.schedule.layers[number].finishes:
                yield BARRIER

    def _stage(self, number: int | None) -> Stream:
        yield BARRIER
        yield from (Wait(DMA, group) for group in self.staging)
        self.staging.clear()
        if number is None:
            return
        l2, l3 = self.memories.l2.name, self.memories.l3
        link = self.memories.udma.name if self.memories.udma else ""
        for staged in self.schedule.layers[number].staged:
            kind = self.graph.types[staged.constant]
            spans: Spans = tuple((0, size) for size in kind.shape)
            home = Home("constant", staged.constant, l3.name if l3 else "")
            source = window_region(home, staged.constant, kind, None, spans)
            target = window_region(Home(ARENA, staged.constant, l2, staged.offset), staged.constant, kind, None, spans)
            moved = [replace(region, stop=region.start + staged.bytes) for region in (source, target)]
            self.staging.append(self._begin())
            yield Begin(DMA, self.groups, link)
            yield Transfer(DMA, link, self.groups, number, 0, *moved)

    def _prefetch(self, number: int) -> Stream:
        layer = self.schedule.layers[number]
        if layer.prefetch is None:
            return
        group = self._begin()
        self.fetched[number] = group
        yield Begin(DMA, group, self.memories.dma.name)
        if layer.prefetch.copies:
            yield self._copy(layer, group)
        if layer.params is not None:
            target = own_buffer(layer.params, PARAMS, 0, 0, ())
            source = Region(f"params {number}", 0, layer.params.bytes, PARAMS, (), role=PARAMS)
            yield Transfer(DMA, self.memories.dma.name, group, number, 0, source, target)
        for move in layer.prefetch.moves:
            yield self._transfer(layer, move, group, DMA, 0, 0, 0)

    def _take_turn(self, layer: LayerSchedule) -> Stream:
        if layer.number in self.fetched:
            yield Wait(DMA, self.fetched.pop(layer.number))

    def _next(self, layer: LayerSchedule) -> Stream:
        for number in layer.prefetches:
            yield from self._prefetch(number)

    def _cooperative(self, layer: LayerSchedule) -> Stream:
        if layer.loads:
            yield BARRIER
        loading = yield from self._moves(layer, layer.loads, DMA, 0, 0, 0)
        storing: int | None = None
        yield from self._take_turn(layer)
        for tile in range(layer.tiles):
            yield from _waits(DMA, loading, storing)
            loading = storing = None
            yield BARRIER
            if layer.buffers > 1:
                if tile > 0:
                    storing = yield from self._moves(layer, layer.stores, DMA, tile - 1, tile - 1, 0)
                if tile + 1 < layer.tiles:
                    loading = yield from self._moves(layer, layer.loads, DMA, tile + 1, tile + 1, 0)
            if tile + 1 == layer.tiles:
                yield from self._next(layer)
            elif layer.buffers == 1:
                yield BARRIER
                stored = yield from self._moves(layer, layer.stores, DMA, tile, tile, 0)
                yield from _waits(DMA, stored)
                loading = yield from self._moves(layer, layer.loads, DMA, tile + 1, tile + 1, 0)
        if layer.stores:
            yield BARRIER
            last = yield from self._moves(layer, layer.stores, DMA, layer.tiles - 1, layer.tiles - 1, 0)
            yield from _waits(DMA, storing, last)

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
        loading = yield from self._moves(layer, layer.loads, DMA, 0, 0, 0)
        yield from self._take_turn(layer)
        yield from _waits(DMA, loading)
        yield from self._start(layer, 0, jobs)
        loading = storing = None
        if layer.buffers > 1 and layer.tiles > 1:
            loading = yield from self._moves(layer, layer.loads, DMA, 1, 1, 0)
        for tile in range(layer.tiles):
            if layer.buffers > 1 and tile + 1 < layer.tiles:
                if not layer.submits_early:
                    yield from _waits(DMA, loading, storing)
                    loading = storing = None
                yield from self._start(layer, tile + 1, jobs)
            yield WaitJob(DMA, jobs[tile % 2])
            if layer.finishes:
                yield BARRIER
                yield BARRIER
            if layer.submits_early:
                yield from _waits(DMA, loading)
                loading = None
            if layer.buffers > 1 and tile + 2 < layer.tiles:
                loading = yield from self._moves(layer, layer.loads, DMA, tile + 2, tile + 2, 0)
            yield from _waits(DMA, storing)
            storing = yield from self._moves(layer, layer.stores, DMA, tile, tile, 0)
            if layer.buffers == 1 and tile + 1 < layer.tiles:
                yield from _waits(DMA, storing)
                storing = None
                loading = yield from self._moves(layer, layer.loads, DMA, tile + 1, tile + 1, 0)
                yield from _waits(DMA, loading)
                loading = None
                yield from self._start(layer, tile + 1, jobs)
        yield from _waits(DMA, storing)

    def _start(self, layer: LayerSchedule, tile: int, jobs: list[int]) -> Stream:
        yield from self._meet_to_gather(layer)
        yield self._submit_tile(layer, tile)
        jobs[tile % 2] = self.jobs
        if tile + 1 == layer.tiles:
            yield from self._next(layer)

    def _meet_to_gather(self, layer: LayerSchedule) -> Stream:
        """When operands are there, and when the cores have gathered them."""
        if layer.gathers:
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
        if layer.finishes:
            yield BARRIER

    def _submit(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        loading = yield from self._moves(layer, layer.loads, DMA, 0, 0, 0)
        yield from self._take_turn(layer)
        yield from _waits(DMA, loading)
        yield from self._meet_to_gather(layer)
        yield self._submit_tile(layer, 0)
        self.submitted[layer.number] = self.jobs
        yield from self._next(layer)

    def _submit_tile(self, layer: LayerSchedule, tile: int) -> Event:
        self.jobs += 1
        return self.regions.call(layer, DMA, "submit", tile, tile, 0, self.jobs)

    # ---- the cores that compute -------------------------------------------------------------------------------------

    def cores(self) -> Stream:
        for layer in self.schedule.layers:
            yield from self._workers_before(layer)
            yield from _CORE_SIDE[layer.loop](self, layer)
        yield from self._finished(self.schedule.last_waits)
        yield BARRIER

    def _workers_before(self, layer: LayerSchedule) -> Stream:
        yield from self._finished(layer.waits_for)
        meetings = layer.stages_first + layer.waits_for_staged + layer.prefetches_first
        yield from (BARRIER for _ in range(meetings))

    def _finished(self, numbers: tuple[int, ...]) -> Stream:
        for number in numbers:
            if self.schedule.layers[number].finishes:
                yield BARRIER
                yield self.regions.call(self.schedule.layers[number], CORES, "finish", 0, 0, 0)

    def _work_cooperative(self, layer: LayerSchedule) -> Stream:
        if layer.loads:
            yield BARRIER
        for tile in range(layer.tiles):
            yield BARRIER
            yield self.regions.call(layer, CORES, "run", tile, tile, 0)
            if layer.buffers == 1 and tile + 1 < layer.tiles:
                yield BARRIER
        if layer.stores:
            yield BARRIER

    def _work_once(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        yield self.regions.call(layer, CORES, "run", 0, 0, 0)

    def _work_per_core(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        for number in range(self.schedule.cores):
            yield from self._own_tiles(layer, number)
        yield BARRIER

    def _own_tiles(self, layer: LayerSchedule, number: int) -> Stream:
        agent, step = core(number), self.schedule.cores
        loading = storing = None
        if number < layer.tiles:
            loading = yield from self._moves(layer, layer.loads, agent, number, 0, number)
        for turn, tile in enumerate(range(number, layer.tiles, step)):
            more = tile + step < layer.tiles
            yield from _waits(agent, loading)
            loading = None
            if layer.buffers > 1 and more:
                loading = yield from self._moves(layer, layer.loads, agent, tile + step, turn + 1, number)
            if layer.buffers == 1:
                yield from _waits(agent, storing)
                storing = None
            yield self.regions.call(layer, agent, "run", tile, turn, number)
            yield from _waits(agent, storing)
            storing = yield from self._moves(layer, layer.stores, agent, tile, turn, number)
            if layer.buffers == 1 and more:
                loading = yield from self._moves(layer, layer.loads, agent, tile + step, turn + 1, number)
        yield from _waits(agent, storing)

    def _work_in_l2(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        yield self.regions.call(layer, core(0), "run", 0, 0, 0)
        yield BARRIER

    def _work_dma_copy(self, layer: LayerSchedule) -> Stream:
        if layer.prefetches:
            yield BARRIER

    def _work_offload(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        yield from self._gathered(layer, 0)
        for tile in range(layer.tiles):
            if layer.buffers > 1:
                yield from self._gathered(layer, tile + 1)
            if layer.finishes:
                yield BARRIER
                yield self.regions.call(layer, CORES, "finish", tile, tile, 0)
                yield BARRIER
            if layer.buffers == 1:
                yield from self._gathered(layer, tile + 1)

    def _gathered(self, layer: LayerSchedule, tile: int) -> Stream:
        """Of a tile, if there is one more."""
        if layer.gathers and tile < layer.tiles:
            yield BARRIER
            yield self.regions.call(layer, CORES, "gather", tile, tile, 0)
            yield BARRIER

    def _work_offload_once(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        if layer.finishes:
            yield BARRIER
            yield self.regions.call(layer, CORES, "finish", 0, 0, 0)

    def _work_submit(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        yield from self._gathered(layer, 0)

    # ---- events -----------------------------------------------------------------------------------------------------

    def _begin(self) -> int:
        self.groups += 1
        return self.groups

    def _moves(
        self, layer: LayerSchedule, moves: tuple[Move, ...], agent: str, tile: int, turn: int, number: int
    ) -> Generator[Event | Barrier, None, int | None]:
        """Starts the transfers of a tile; gives their group, or None where there are none at all."""
        if not moves:
            return None
        group = self._begin()
        yield Begin(agent, group, self.memories.dma.name)
        for move in moves:
            if not move.when.holds(tile, turn):
                continue
            if move.staging is None:
                yield self._transfer(layer, move, group, agent, tile, turn, number)
            elif move.operand.is_result:
                yield from self._store_to_l3(layer, move, agent, tile, turn, number)
            else:
                yield from self._load_from_l3(layer, move, group, agent, tile, turn, number)
        return group

    def _transfer(
        self, layer: LayerSchedule, move: Move, group: int, agent: str, tile: int, turn: int, number: int
    ) -> Transfer:
        home = self.regions.window(layer, move.operand, move.home, tile)
        buffer = self.regions.operand_buffer(layer, move.operand, move.buffer, tile, turn, number)
        source, target = (buffer, home) if move.operand.is_result else (home, buffer)
        return Transfer(agent, self.memories.dma.name, group, layer.number, tile, source, target)

    def _copy(self, layer: LayerSchedule, group: int) -> Transfer:
        """A layer that is nothing but a transfer."""
        by_name = {argument.operand.name: argument for argument in layer.arguments}
        source, target = (self.regions.window(layer, by_name[n].operand, by_name[n].home, 0) for n in ("X", "Y"))
        return Transfer(DMA, self.memories.dma.name, group, layer.number, 0, source, target)

    # ---- by way of L2 -----------------------------------------------------------------------------------------------

    def _load_from_l3(
        self, layer: LayerSchedule, move: Move, group: int, agent: str, tile: int, turn: int, number: int
    ) -> Stream:
        """A tile's part comes from L3, unless it has been sent for already, and goes on; the next one is sent for."""
        first = turn == 0 if layer.loop == PER_CORE else tile == 0
        if not move.ahead or first:
            yield from self._pass(layer, move, agent, tile, turn, number)
        yield from self._wait_for_mark(layer, move, agent, turn, number)
        staged = self._staged(layer, move, tile, turn, number)
        buffer = self.regions.operand_buffer(layer, move.operand, move.buffer, tile, turn, number)
        yield Transfer(agent, self.memories.dma.name, group, layer.number, tile, staged, buffer)
        stride = self.schedule.cores if layer.loop == PER_CORE else move.when.period
        if move.ahead and tile + stride < layer.tiles:
            yield from self._pass(layer, move, agent, tile + stride, turn + move.when.period, number)

    def _store_to_l3(self, layer: LayerSchedule, move: Move, agent: str, tile: int, turn: int, number: int) -> Stream:
        """A tile's part leaves L1 when its staging buffer is free; after the last one, all have arrived."""
        yield from self._wait_for_mark(layer, move, agent, turn, number)
        group, link = self._begin(), self.memories.dma.name
        buffer = self.regions.operand_buffer(layer, move.operand, move.buffer, tile, turn, number)
        yield Begin(agent, group, link)
        yield Transfer(agent, link, group, layer.number, tile, buffer, self._staged(layer, move, tile, turn, number))
        yield Wait(agent, group)
        yield from self._pass(layer, move, agent, tile, turn, number)
        if tile + (self.schedule.cores if layer.loop == PER_CORE else 1) >= layer.tiles:
            yield from self._wait_for_mark(layer, move, agent, turn, number)

    def _pass(self, layer: LayerSchedule, move: Move, agent: str, tile: int, turn: int, number: int) -> Stream:
        """Between a staging buffer and L3."""
        group, link = self._begin(), self.memories.udma.name if self.memories.udma else ""
        home = self.regions.window(layer, move.operand, move.home, tile)
        staged = self._staged(layer, move, tile, turn, number)
        source, target = (staged, home) if move.operand.is_result else (home, staged)
        self.marks[self._mark(layer, move, turn, number)] = group
        self.in_l3.setdefault(agent, []).append(group)
        yield Begin(agent, group, link)
        yield Transfer(agent, link, group, layer.number, tile, source, target)

    def _wait_for_mark(self, layer: LayerSchedule, move: Move, agent: str, turn: int, number: int) -> Stream:
        """Transfers of that link are done in order: all before are done too."""
        mark = self.marks.get(self._mark(layer, move, turn, number), 0)
        pending = self.in_l3.get(agent, [])
        yield from (Wait(agent, group) for group in pending if group <= mark)
        self.in_l3[agent] = [group for group in pending if group > mark]

    def _mark(self, layer: LayerSchedule, move: Move, turn: int, number: int) -> tuple[int, str, int]:
        return layer.number, move.operand.name, _staging(move).at(turn, number)

    def _staged(self, layer: LayerSchedule, move: Move, tile: int, turn: int, number: int) -> Region:
        return self.regions.operand_buffer(layer, move.operand, _staging(move), tile, turn, number)


def _staging(move: Move) -> Slots:
    if move.staging is None:
        raise InternalError("schedule", f"{move.operand.name} has no staging buffer")
    return move.staging


def _waits(agent: str, *groups: int | None) -> Stream:
    yield from (Wait(agent, group) for group in groups if group is not None)


_DMA_SIDE = {
    COOPERATIVE: _Unroller._cooperative, COOPERATIVE_ONCE: _Unroller._cooperative_once, PER_CORE: _Unroller._aside,
    IN_L2: _Unroller._aside, DMA_COPY: _Unroller._dma_copy, OFFLOAD: _Unroller._offload,
    OFFLOAD_ONCE: _Unroller._offload_once, SUBMIT: _Unroller._submit, SUBMIT_AHEAD: _Unroller._describe,
}  # fmt: skip
_CORE_SIDE = {
    COOPERATIVE: _Unroller._work_cooperative, COOPERATIVE_ONCE: _Unroller._work_once,
    PER_CORE: _Unroller._work_per_core, IN_L2: _Unroller._work_in_l2, DMA_COPY: _Unroller._work_dma_copy,
    OFFLOAD: _Unroller._work_offload, OFFLOAD_ONCE: _Unroller._work_offload_once, SUBMIT: _Unroller._work_submit,
    SUBMIT_AHEAD: _Unroller._work_submit,
}  # fmt: skip

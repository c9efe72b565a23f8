"""What the cores that compute do, tile by tile, in the order of the runtime's loops."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from tilewright.planner.schedule.events import CORES, Event, core
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
from tilewright.planner.schedule.unrolled_moves import BARRIER, Barrier, Moves, Stream, waits


@dataclass
class WorkerCores:
    moves: Moves

    def events(self) -> Stream:
        for layer in self.moves.schedule.layers:
            yield from self._before(layer)
            yield from _LOOPS[layer.loop](self, layer)
        yield from self._finished(self.moves.schedule.last_waits)
        yield BARRIER

    def _before(self, layer: LayerSchedule) -> Stream:
        yield from self._finished(layer.waits_for)
        meetings = layer.stages_first + layer.waits_for_staged + layer.prefetches_first
        yield from (BARRIER for _ in range(meetings))

    def _finished(self, numbers: tuple[int, ...]) -> Stream:
        for number in numbers:
            if self.moves.schedule.layers[number].has_epilogue:
                yield BARRIER
                yield self.moves.regions.call(self.moves.schedule.layers[number], CORES, "finish", 0, 0, 0)

    def _cooperative(self, layer: LayerSchedule) -> Stream:
        if layer.loads:
            yield BARRIER
        for tile in range(layer.tiles):
            yield BARRIER
            yield self.moves.regions.call(layer, CORES, "run", tile, tile, 0)
            if layer.buffers == 1 and tile + 1 < layer.tiles:
                yield BARRIER
        if layer.stores:
            yield BARRIER

    def _cooperative_once(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        yield self.moves.regions.call(layer, CORES, "run", 0, 0, 0)

    def _per_core(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        for number in range(self.moves.schedule.cores):
            yield from self._own_tiles(layer, number)
        yield BARRIER

    def _own_tiles(self, layer: LayerSchedule, number: int) -> Stream:
        step, behind = self.moves.schedule.cores, int(layer.buffers > 1)
        tiles = range(number, layer.tiles, step)
        moving = None
        if tiles:
            moving = yield from self._both(layer, number, 0, None)
        for turn, tile in enumerate(tiles):
            yield from waits(core(number), moving)
            following = turn + 1 if turn + 1 < len(tiles) else None
            if behind:
                moving = yield from self._both(layer, number, following, turn - 1 if turn else None)
            yield self.moves.regions.call(layer, core(number), "run", tile, turn, number)
            if not behind:
                moving = yield from self._both(layer, number, following, turn)
        if behind and tiles:
            yield from waits(core(number), moving)
            moving = yield from self._both(layer, number, None, len(tiles) - 1)
        yield from waits(core(number), moving)

    def _both(
        self, layer: LayerSchedule, number: int, loaded: int | None, stored: int | None
    ) -> Generator[Event | Barrier, None, int | None]:
        """Operands of the core's tile of one turn, and results of its tile of another, as one group."""
        moved = (layer.loads if loaded is not None else ()) + (layer.stores if stored is not None else ())
        if not moved:
            return None
        group = yield from self.moves.begun(core(number))
        for turn, moves in ((loaded, layer.loads), (stored, layer.stores)):
            if turn is not None:
                tile = number + turn * self.moves.schedule.cores
                yield from self.moves.into(group, layer, moves, core(number), tile, turn, number)
        return group

    def _in_l2(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        yield self.moves.regions.call(layer, core(0), "run", 0, 0, 0)
        yield BARRIER

    def _dma_copy(self, layer: LayerSchedule) -> Stream:
        if layer.prefetches:
            yield BARRIER

    def _offload(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        yield from self._gathered(layer, 0)
        for tile in range(layer.tiles):
            if layer.buffers > 1:
                yield from self._gathered(layer, tile + 1)
            if layer.has_epilogue:
                yield BARRIER
                yield self.moves.regions.call(layer, CORES, "finish", tile, tile, 0)
                yield BARRIER
            if layer.buffers == 1:
                yield from self._gathered(layer, tile + 1)

    def _gathered(self, layer: LayerSchedule, tile: int) -> Stream:
        """Of a tile, if there is one more."""
        if layer.has_prologue and tile < layer.tiles:
            yield BARRIER
            yield self.moves.regions.call(layer, CORES, "gather", tile, tile, 0)
            yield BARRIER

    def _offload_once(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        if layer.has_epilogue:
            yield BARRIER
            yield self.moves.regions.call(layer, CORES, "finish", 0, 0, 0)

    def _submit(self, layer: LayerSchedule) -> Stream:
        yield BARRIER
        yield from self._gathered(layer, 0)


_LOOPS = {
    COOPERATIVE: WorkerCores._cooperative, COOPERATIVE_ONCE: WorkerCores._cooperative_once,
    PER_CORE: WorkerCores._per_core, IN_L2: WorkerCores._in_l2, DMA_COPY: WorkerCores._dma_copy,
    OFFLOAD: WorkerCores._offload, OFFLOAD_QUEUED: WorkerCores._offload, OFFLOAD_STARVED: WorkerCores._offload,
    OFFLOAD_ONCE: WorkerCores._offload_once, SUBMIT: WorkerCores._submit, SUBMIT_AHEAD: WorkerCores._submit,
}  # fmt: skip

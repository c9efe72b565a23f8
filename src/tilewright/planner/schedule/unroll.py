"""What a schedule's loops mean, tile by tile: the same order of transfers, calls, waits and barriers as that of the
runtime's loops (runtime/pipeline.c and offload.c), which a test holds against these."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.errors import InternalError
from tilewright.ir.graph import Graph
from tilewright.planner.schedule.dma_core import DmaCore
from tilewright.planner.schedule.events import Epoch, Event
from tilewright.planner.schedule.tile_schedule import ClusterSchedule
from tilewright.planner.schedule.unrolled_moves import Barrier, Moves, Stream
from tilewright.planner.schedule.worker_cores import WorkerCores
from tilewright.target.memory import Hierarchy


def unroll(schedule: ClusterSchedule, graph: Graph, memories: Hierarchy) -> tuple[Epoch, ...]:
    moves = Moves(schedule, memories)
    return tuple(_epochs(DmaCore(moves, graph).events(), WorkerCores(moves).events()))


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

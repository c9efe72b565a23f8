"""What a program means, event by event: its trees walked, turn by turn, with the bytes that each event touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tilewright.errors import InternalError
from tilewright.planner.home import CONSTANT, COPY, Home
from tilewright.planner.program.program import CORES, DMA, Load
from tilewright.planner.schedule.agent_events import AgentEvents
from tilewright.planner.schedule.events import Copy, Epoch, TileEvent, window_region
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.unrolled_moves import Barrier, Moves, Stream


def unroll(schedule: Schedule, early: bool = False) -> tuple[Epoch, ...]:
    """The events of all agents between barriers. `early`: what may happen while jobs are given happens before them."""
    moves, bodies = Moves(schedule), schedule.program.agents
    streams = {
        agent: AgentEvents(agent, moves, early).events(bodies[agent]) for agent in (DMA, CORES) if agent in bodies
    }
    start = tuple(_copy(schedule, load) for load in schedule.program.start)
    return (*((start,) if start else ()), *_epochs(streams))


def _copy(schedule: Schedule, load: Load) -> Copy:
    """By start-up code, before any agent begins."""
    kind, homes = schedule.graph.types[load.constant], (Home(CONSTANT, load.constant), Home(COPY, load.constant))
    whole = tuple((0, size) for size in kind.shape)
    regions = (window_region(home, load.constant, kind, None, whole) for home in homes)
    return Copy("start", *(replace(region, stop=region.start + load.bytes) for region in regions))


def _epochs(streams: Mapping[str, Stream]) -> Iterator[Epoch]:
    """What the DMA core does comes first where both are at the same place."""
    while True:
        found = [_until_barrier(stream) for stream in streams.values()]
        yield tuple(event for events, _ in found for event in events)
        groups = {None if barrier is None else barrier.group for _, barrier in found}
        if len(groups) > 1:
            raise InternalError("schedule", "agents meet at different barriers, or at different numbers of them")
        (group,) = groups
        if group is None:
            return
        if group != streams.keys():
            raise InternalError("schedule", f"{sorted(streams)} meet at a barrier of {sorted(group)}")


def _until_barrier(stream: Stream) -> tuple[list[TileEvent], Barrier | None]:
    found: list[TileEvent] = []
    for event in stream:
        if isinstance(event, Barrier):
            return found, event
        found.append(event)
    return found, None

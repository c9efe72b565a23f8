"""What each core does in a program, as its trees say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.run.order_seen import ASK, BARRIER, BEGIN, JOB, MOVE, WAIT
from tilewright.planner.program.program import CORES, DMA
from tilewright.planner.schedule.events import (
    AwaitGroup,
    AwaitJob,
    Begin,
    Epoch,
    Region,
    TileCall,
    TileEvent,
    Transfer,
    core,
)
from tilewright.target.agents import BY_ALL_CORES
from tilewright.target.target import Target


@dataclass(frozen=True)
class Said:
    what: str
    layer: int = -1
    group: int = -1
    """Of those that the core has begun or asked for; the job."""
    regions: tuple[Region, ...] = ()
    """Of what is moved: target and source. Of a call: what it reads and writes."""
    tile: int = -1


@dataclass
class SaidSteps:
    """Of one core: it does what its agents do."""

    target: Target
    number: int
    groups: dict[int, int] = field(default_factory=dict)
    """Groups of transfers that it begins or asks for -> their order."""
    asked: set[int] = field(default_factory=set)

    def of(self, epochs: Iterable[Epoch]) -> list[Said]:
        agents, found = self.target.agents, list[Said]()
        own = {DMA} if agents.moves_apart and self.number == agents.dma_core else {CORES, core(self.number)}
        for epoch, events in enumerate(epochs):
            found += [Said(BARRIER)] * (epoch > 0)
            mine = [event for event in events if event.agent in own]
            found += [step for event in mine for step in self._step(event, mine)]
        return found[:-1] if self._copies else found  # the runtime's own barrier is seen where it is an instruction

    @property
    def _copies(self) -> bool:
        return self.target.agents.transfers == BY_ALL_CORES

    def _step(self, event: TileEvent, around: list[TileEvent]) -> Iterator[Said]:
        if isinstance(event, Begin):
            yield from self._begun(event, around)
        elif isinstance(event, Transfer) and event.group not in self.asked:
            yield Said(MOVE, event.layer, regions=(event.target, event.source))
        elif isinstance(event, AwaitGroup) and event.group in self.groups:
            yield Said(WAIT, group=self.groups[event.group])
        elif isinstance(event, TileCall):
            yield Said(event.kind, event.layer, regions=(*event.reads, *event.writes))
        elif isinstance(event, AwaitJob):
            yield Said(JOB, group=event.job)

    def _begun(self, begun: Begin, around: list[TileEvent]) -> Iterator[Said]:
        """Where all copy, one of them has the groups, and cores that copy alone have none."""
        if self._copies and (begun.agent != CORES or self.number != self.target.agents.dma_core):
            return
        self.groups[begun.group] = len(self.groups)
        if not begun.asks:
            yield Said(BEGIN, group=self.groups[begun.group])
            return
        self.asked.add(begun.group)
        moved = next(event for event in around if isinstance(event, Transfer) and event.group == begun.group)
        yield Said(f"{ASK}-{moved.kind}", moved.layer, self.groups[begun.group], tile=moved.tile)

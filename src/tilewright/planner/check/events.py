"""The events of a cluster's schedule, checked one by one, from the definitions and without the planner's code.

It follows what every byte holds: whoever reads finds what it expects, nobody writes what another may still read or
write, every transfer and job is waited for, and no limit of the runtime, the links or the kernels is exceeded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from tilewright.errors import InternalError, present
from tilewright.ir.graph import Graph
from tilewright.ir.types import BYTES
from tilewright.planner.check.call_bytes import check_apart
from tilewright.planner.check.event_regions import clipped, elements, extent, footprint, of_layer, overlap, place
from tilewright.planner.check.held_bytes import HeldBytes
from tilewright.planner.check.live_accesses import Access, LiveAccesses
from tilewright.planner.home import ARENA
from tilewright.planner.keys import PARAMS, SCRATCH
from tilewright.planner.program.program import CORES, DMA
from tilewright.planner.schedule.events import (
    AwaitGroup,
    AwaitJob,
    Begin,
    Copy,
    Epoch,
    Region,
    TileCall,
    TileEvent,
    Transfer,
    core,
)
from tilewright.planner.schedule.layer_schedule import LayerSchedule, Slots
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.agents import BY_NOBODY
from tilewright.target.memory import Link
from tilewright.target.target import Target


def check_events(epochs: Sequence[Epoch], schedule: Schedule) -> None:
    """Raises `InternalError` for the first thing that could go wrong."""
    checker = _Checker(schedule)
    for epoch in epochs:
        checker.run(epoch)
    checker.end()


@dataclass(frozen=True, eq=False)
class _Job:
    """What an accelerator has been given and nobody has waited for."""

    number: int
    engine: str
    accesses: list[Access]
    call: TileCall


@dataclass
class _Checker:
    schedule: Schedule
    epoch: int = 0
    position: int = 0
    live: dict[str, LiveAccesses] = field(default_factory=dict)
    """Memory -> accesses of this epoch, and those that are not over."""
    groups: dict[int, tuple[str, str, list[Access]]] = field(default_factory=dict)
    """Open group -> its agent, its link, its accesses."""
    begun: set[int] = field(default_factory=set)
    arrivals: dict[int, list[tuple[Region, str]]] = field(default_factory=dict)
    """Group -> what its targets hold when it is done."""
    jobs: list[_Job] = field(default_factory=list)
    engines: dict[int, str] = field(default_factory=dict)
    """Job -> the accelerator that was given it."""
    kept: dict[tuple[str, str], int] = field(default_factory=dict)
    """(link, agent) -> groups that it had in this epoch when it began another."""
    asked: str = ""
    """An agent that asks for transfers in this epoch."""
    serves: bool = False
    """Whether another one starts them."""
    submitted: int = 0
    calls: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    """(layer, kind) -> tiles that have been called, in order."""
    graph: Graph = field(init=False)
    target: Target = field(init=False)
    held: HeldBytes = field(init=False)
    driver: str = field(init=False)
    """Who submits jobs and waits for them."""
    is_alone: bool = field(init=False)
    """Whether there is one core, which does one thing after the other."""

    def __post_init__(self) -> None:
        agents = self.schedule.program.agents
        self.graph, self.target = self.schedule.graph, self.schedule.target
        self.held = HeldBytes(self.schedule)
        self.driver = DMA if DMA in agents else CORES
        self.is_alone = len(agents) == 1 and self.schedule.cores == 1

    def run(self, epoch: Epoch) -> None:
        for event in epoch:
            self.position += 1
            self._event(event)
        self._check_groups()
        if self.asked and not self.serves:
            raise InternalError("schedule", f"{self.asked} asks for transfers and nobody starts them")
        self.asked, self.serves = "", False
        self.epoch += 1
        # Memories without any are left out: every constant, input and output is one, and epochs are many.
        kept = ((memory, accesses.still_open()) for memory, accesses in self.live.items())
        self.live = {memory: accesses for memory, accesses in kept if accesses.homes}

    def end(self) -> None:
        if self.groups:
            group, (agent, _, _) = next(iter(self.groups.items()))
            raise InternalError("schedule", f"nobody waits for group {group} of {agent}")
        if self.jobs:
            raise InternalError("schedule", f"nobody waits for job {self.jobs[0].number}")
        for layer in self.schedule.layers:
            self._check_calls(layer)
        for name in self.graph.outputs:
            if name not in self.graph.constants and name not in self.graph.inputs:
                self.held.check_whole(name, self.schedule.homes[name].owner, f"output '{name}'")
        for state in self.graph.states:
            self.held.check_whole(state.after, state.before, f"state '{state.name}'")

    def _event(self, event: TileEvent) -> None:
        if isinstance(event, Begin):
            self._begin(event)
        elif isinstance(event, Transfer):
            self._transfer(event)
        elif isinstance(event, AwaitGroup):
            self._wait(event)
        elif isinstance(event, TileCall):
            self._call(event)
        elif isinstance(event, AwaitJob):
            self._wait_job(event)
        elif isinstance(event, Copy):
            self._copy(event)
        else:
            self.serves = True

    def _check_groups(self) -> None:
        """Whoever begins a group while none is free waits for others to end theirs: one must be left if all others keep
        what they have."""
        for link in {name for name, _ in self.kept}:
            opened = Counter(agent for agent, name, _ in self.groups.values() if name == link)
            begun = Counter({agent: count for (name, agent), count in self.kept.items() if name == link})
            kept, there = (opened | begun).total(), self._link(link).groups
            if 1 < there <= kept:
                raise InternalError("schedule", f"{kept} groups of transfers of {link} are kept, {there} are there")
        self.kept.clear()

    # ---- transfers --------------------------------------------------------------------------------------------------

    def _begin(self, event: Begin) -> None:
        if event.group in self.begun:
            raise InternalError("schedule", f"group {event.group} is begun twice")
        self.begun.add(event.group)
        self.asked = self.asked or event.agent * event.asks
        self.groups[event.group] = event.agent, event.link, []
        self._link(event.link)
        held = sum(one[:2] == (event.agent, event.link) for one in self.groups.values()) - 1
        key = event.link, event.agent
        self.kept[key] = max(held, self.kept.get(key, 0))

    def _transfer(self, event: Transfer) -> None:
        where = f"layer {event.layer} tile {event.tile}, {event.kind} of {event.source.tensor}"
        if event.group not in self.groups:
            raise InternalError(where, f"group {event.group} is not open")
        agent, link, accesses = self.groups[event.group]
        if (agent, link) != (event.agent, event.link):
            raise InternalError(where, f"belongs to group {event.group} of {agent} and {link}")
        self._check_form((event.source, event.target), where)
        self._check_same(event, where)
        self._check_reach(event, where)
        self.held.check(event.source, where, event.layer)
        for region, writes in ((event.source, False), (event.target, True)):
            accesses.append(self._access(region, writes, event.agent, None, where))
        self.held.poison(event.target)
        self.arrivals.setdefault(event.group, []).append((of_layer(event.target, event.layer), where))

    def _check_form(self, regions: Sequence[Region], where: str) -> None:
        """A window of a home is a box of its axes; all else has none."""
        for region in regions:
            if len(region.frame) != len(region.box) or (region.owner and region.tensor not in self.schedule.homes):
                raise InternalError(where, f"{place(region)} is no window: {region.box} of {region.frame}")

    def _check_same(self, event: Transfer, where: str) -> None:
        source, target = event.source, event.target
        if source.role or target.role:
            expected = f"params {event.layer}", target.role, target.stop - target.start
            if (source.memory, source.role, source.stop - source.start) != expected:
                raise InternalError(where, "moves something else than its parameters")
            return
        copies = self.schedule.layers[event.layer].prefetch
        if source.tensor != target.tensor and not (copies is not None and bool(copies.copies)):
            raise InternalError(where, f"moves {source.tensor} to where {target.tensor} is expected")
        if source.spans != target.spans:
            raise InternalError(where, f"moves {source.spans} to where {target.spans} is expected")
        for region in (source, target):
            self._check_size(region, where)

    def _check_size(self, region: Region, where: str) -> None:
        size = self._bytes(region)
        held = region.stop - region.start
        if not region.owner and held != size:
            raise InternalError(where, f"{size} bytes of {region.tensor} in a buffer of {held}")

    def _bytes(self, region: Region) -> int:
        return elements(region.spans) * BYTES[self.graph.types[region.tensor].dtype]

    def _check_reach(self, event: Transfer, where: str) -> None:
        """Both ends are memories that the link joins."""
        ends = {self._memory(event.source), self._memory(event.target)}
        links = [link for link in self.target.links if link.name == event.link]
        joined = [{link.outer, link.inner} for link in links] + [{link.inner} for link in links if link.within_inner]
        if ends not in joined:
            raise InternalError(where, f"{event.link} does not join {' and '.join(sorted(ends))}")

    def _memory(self, region: Region) -> str:
        """The memory of a region, whoever's bytes it is."""
        if region.memory in self.schedule.arenas:
            return region.memory
        if region.role == PARAMS:
            return self.target.paths.home.name
        return self.schedule.homes[region.owner or region.tensor].memory

    def _copy(self, event: Copy) -> None:
        source, target = event.source, event.target
        where = f"{event.agent}, copy of {source.tensor}"
        self._check_form((source, target), where)
        if (source.tensor, source.spans, source.stop) != (target.tensor, target.spans, target.stop):
            raise InternalError(where, f"goes to where {target.tensor}{list(target.spans)} is expected")
        self.held.check(source, where, -1)
        for region, writes in ((source, False), (target, True)):
            self._access(region, writes, event.agent, self._now, where)
        self.held.hold(target, where)

    def _wait(self, event: AwaitGroup) -> None:
        if event.group not in self.groups:
            raise InternalError("schedule", f"{event.agent} waits for group {event.group}, which is not open")
        agent, _, accesses = self.groups.pop(event.group)
        if agent != event.agent:
            raise InternalError("schedule", f"{event.agent} waits for group {event.group} of {agent}")
        for access in accesses:
            access.end = self._now
        for region, where in self.arrivals.pop(event.group, []):
            self.held.hold(region, where)

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _call(self, event: TileCall) -> None:
        layer = self.schedule.layers[event.layer]
        where = f"layer {event.layer} tile {event.tile}, {event.kind}"
        self.calls.setdefault((event.layer, event.kind), []).append(event.tile)
        if event.agent != (caller := self._caller(event, layer)):
            raise InternalError(where, f"is called by {event.agent}, not by {caller}")
        self._check_form((*event.reads, *event.writes), where)
        self._check_operands(event, layer, where)
        check_apart(event, layer, where)
        self._check_written(event, where)
        offloaded = event.kind == "submit"
        for region in event.reads:
            if not (offloaded and self._is_still_made(region, layer, where)):
                self.held.check(region, where, event.layer)
        regions = [(region, False) for region in event.reads] + [(region, True) for region in event.writes]
        end, engine = (None, layer.option.engine) if offloaded else (self._now, "")
        is_one = layer.kernel.waits and not layer.kernel.has_several
        if offloaded and is_one and any(job.engine == engine for job in self.jobs):
            raise InternalError(where, f"is submitted while {engine} has another job")
        read = self._now if layer.kernel.copies_operands else end
        ends = [end if writes else read for _, writes in regions]
        accesses = [
            self._access(*one, event.agent, until, where, engine) for one, until in zip(regions, ends, strict=True)
        ]
        self._check_own_buffers(event, layer, where)
        if not offloaded:
            self._made(event, where)
            return
        if event.job <= self.submitted:
            raise InternalError(where, f"job {event.job} is submitted after job {self.submitted}")
        self.submitted = event.job
        self.engines[event.job] = engine
        self.jobs.append(_Job(event.job, engine, accesses, event))

    def _check_written(self, event: TileCall, where: str) -> None:
        for region in event.writes:
            if region.owner in self.graph.inputs or region.owner in self.graph.constants:
                raise InternalError(where, f"writes {place(region)}, which is only read")

    def _is_still_made(self, region: Region, layer: LayerSchedule, where: str) -> bool:
        """Whether jobs before make all of it, of an accelerator that begins none before those have ended. What jobs
        leave behind is known when they are waited for: till then, those are the last that write these bytes."""
        parts = set(self.held.parts(region.tensor)) if region.owner else set()
        missing = set(parts)
        for call in (job.call for job in reversed(self.jobs)):
            for one in call.writes:
                if one.tensor in missing and one.owner == region.owner:
                    missing -= {one.tensor} if self._is_made_before(call, one, layer) else set()
                elif one.tensor not in parts and self._is_written_over(region, one, call.layer == layer.number):
                    raise InternalError(where, f"reads {place(region)}, which layer {call.layer} writes over before")
            if parts and not missing:
                return True
        return False

    def _caller(self, event: TileCall, layer: LayerSchedule) -> str:
        """Who must call: one agent submits all jobs; cores work together, or take tiles in turn."""
        cores = self.schedule.cores
        if event.kind == "submit":
            return self.driver
        if self.is_alone and self.target.agents.transfers == BY_NOBODY:
            return CORES
        if layer.is_per_core and cores > 0:
            return core(event.tile % cores)
        return core(0) if layer.option.mode == "in_place" and not layer.option.kernel.cooperative else CORES

    def _is_made_before(self, call: TileCall, written: Region, layer: LayerSchedule) -> bool:
        """Whether a job of the same accelerator makes a whole tensor before it begins one of this layer's."""
        maker = self.schedule.layers[call.layer].option
        in_order = maker.kernel.in_order and layer.option.kernel.in_order and maker.engine == layer.option.engine
        return in_order and elements(written.spans) == self.graph.types[written.tensor].elements

    def _is_written_over(self, read: Region, written: Region, by_itself: bool) -> bool:
        """By an earlier job. A layer may have its results in the place of operands: tile by tile, those of its own."""
        in_place = by_itself and bool(read.owner) and read.owner == written.owner
        return read.memory == written.memory and not in_place and overlap(read, written)

    def _made(self, event: TileCall, where: str) -> None:
        for region in event.writes:
            self.held.hold(region, where)

    def _check_operands(self, event: TileCall, layer: LayerSchedule, where: str) -> None:
        """A call has the windows that the operator's own geometry says."""
        grid = layer.option.grid
        found = footprint(grid, grid.indices(event.tile)) if grid.cuts else None
        regions = [region for region in (*event.reads, *event.writes) if not region.role]
        expected = sorted(
            (argument.operand.tensor, clipped(found, argument.operand.name, grid.types[argument.operand.name].shape))
            for argument in layer.arguments
            if not (argument.operand.is_result and _leaves_results(event, layer))
            if not (event.kind == "submit" and argument.operand.name in layer.epilogue_operands)
        )
        if sorted((region.tensor, region.spans) for region in regions) != expected:
            raise InternalError(where, "has other windows than its tile")
        for region in regions:
            self._check_size(region, where)
            if not region.owner and region.start % self._alignment(region.memory):
                raise InternalError(where, f"{region.tensor} at {region.memory}+{region.start} is not aligned")
            if grid.whole_axes and region.stop - region.start != self._bytes(region):
                raise InternalError(where, f"{region.tensor}{list(region.spans)} does not lie in one piece")

    def _check_own_buffers(self, event: TileCall, layer: LayerSchedule, where: str) -> None:
        """A call reads its parameters, and has working memory: cores finish from what the accelerator has left there,
        that begins with what they have gathered."""
        reads, writes = ({r.role: r for r in regions if r.role} for regions in (event.reads, event.writes))
        left = event.kind == "finish" or (event.kind == "submit" and layer.has_prologue)
        wanted = {PARAMS: layer.params, **({SCRATCH: layer.scratch} if left else {})}
        made = {} if event.kind == "finish" else {SCRATCH: layer.scratch}
        for found, slots in ((reads, wanted), (writes, made)):
            if found.keys() != {role for role, one in slots.items() if one is not None}:
                raise InternalError(where, f"has {sorted(found)} among its buffers, not those of its layer")
            for role, region in found.items():
                if not _is_one_of(region, present(slots[role], where, f"has no {role}")):
                    raise InternalError(
                        where, f"has its {role} at {place(region)}, which is none of its layer's buffers"
                    )

    def _alignment(self, memory: str) -> int:
        return next((m.alignment for m in self.target.memories if m.name == memory), 1)

    def _wait_job(self, event: AwaitJob) -> None:
        """An accelerator does its jobs in order; those of another one go on. Whoever waits knows till the next barrier
        alone that they have ended: it is the one that submits the next."""
        if event.agent != self.driver:
            raise InternalError(
                "schedule", f"{event.agent} waits for job {event.job}, which {self.driver} has submitted"
            )
        if event.job not in self.engines:
            raise InternalError("schedule", f"{event.agent} waits for job {event.job}, which was not submitted")
        engine = self.engines[event.job]
        ended = [job for job in self.jobs if job.engine == engine and job.number <= event.job]
        self.jobs = [job for job in self.jobs if job not in ended]
        for job in ended:
            for access in job.accesses:
                access.end = self._now
            self._made(job.call, f"layer {job.call.layer} tile {job.call.tile}")

    def _check_calls(self, layer: LayerSchedule) -> None:
        """Every tile once, in order but for cores that have tiles of their own."""
        option = layer.option
        first = "submit" if option.kernel.offloaded and option.mode == "offload" else "run"
        wanted = list(range(layer.tiles)) if option.mode != "dma_copy" else []
        kinds = {first: wanted}
        if first == "submit":
            kinds |= {"gather": wanted} if layer.has_prologue else {}
            kinds |= {"finish": wanted} if layer.has_epilogue else {}
        for kind in ("run", "gather", "submit", "finish"):
            found = self.calls.get((layer.number, kind), [])
            ordered = sorted(found) if layer.is_per_core else found
            if ordered != kinds.get(kind, []):
                raise InternalError(option.node.where, f"tiles {found} are called ({kind}) of {layer.tiles}")

    # ---- who has which bytes when -----------------------------------------------------------------------------------

    @property
    def _now(self) -> tuple[int, int]:
        return self.epoch, self.position

    def _access(
        self, region: Region, writes: bool, agent: str, end: tuple[int, int] | None, what: str, engine: str = ""
    ) -> Access:
        self._check_inside(region, what)
        made = Access(region, writes, agent, self._now, end, what, engine)
        if self.is_alone:
            made.agent = core(0)
        live = self.live.setdefault(region.memory, LiveAccesses())
        for other in live.near(region, writes):
            if not other.comes_before(made) and overlap(other.region, region):
                raise InternalError(what, f"{made.verb} {place(region)} while {other.what} {other.verb} it")
        if not (self.is_alone and end is not None):  # else it is over before anything else begins
            live.add(made)
        return made

    def _check_window(self, region: Region, what: str) -> None:
        """A window has the bytes that its home and its box give it."""
        home, element = self.schedule.homes[region.tensor], BYTES[self.graph.types[region.tensor].dtype]
        first, last = extent(region, element)
        base = home.offset if home.kind == ARENA else 0
        if region.owner in self.graph.constants and region.memory in self.schedule.arenas:
            base = region.start - first  # staged: checked where it is read
        if (region.start, region.stop) != (base + first, base + last):
            raise InternalError(what, f"{place(region)} is not where {region.tensor}{list(region.spans)} is")

    def _check_inside(self, region: Region, what: str) -> None:
        if region.owner:
            self._check_window(region, what)
        size = self.schedule.arenas.get(region.memory)
        if region.start < 0 or region.stop < region.start or (size is not None and region.stop > size):
            raise InternalError(what, f"{place(region)} is outside the {size} bytes of {region.memory}")

    def _link(self, name: str) -> Link:
        found = next((link for link in self.target.links if link.name == name), None)
        if found is None:
            raise InternalError("schedule", f"there is no link {name}")
        return found


def _is_one_of(region: Region, slots: Slots) -> bool:
    """Whether it is one of equal buffers side by side."""
    before = region.start - slots.offset
    inside = before >= 0 and region.stop <= slots.end and region.stop - region.start == slots.bytes
    return region.memory == slots.memory and inside and (not slots.bytes or before % slots.bytes == 0)


def _leaves_results(event: TileCall, layer: LayerSchedule) -> bool:
    """Whether a call writes its working memory only."""
    return event.kind == "gather" or (event.kind == "submit" and layer.has_epilogue)

"""The events of a cluster's schedule, checked one by one, from the definitions and without the planner's code.

It follows what every byte holds: whoever reads finds what it expects, nobody writes what another may still read or
write, every transfer and job is waited for, and no limit of the runtime, the links or the kernels is exceeded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tilewright.errors import InternalError
from tilewright.ir.graph import Graph
from tilewright.ir.types import BYTES
from tilewright.ops.concat import Concat
from tilewright.planner.event_regions import clipped, elements, extent, of_layer, overlap, place
from tilewright.planner.events import Begin, Call, Epoch, Event, Region, Spans, Transfer, Wait, WaitJob
from tilewright.planner.held_buffers import HeldBuffers
from tilewright.planner.home import ARENA
from tilewright.planner.keys import PARAMS
from tilewright.planner.live_accesses import Access, LiveAccesses
from tilewright.planner.tile_schedule import PER_CORE, ClusterSchedule, LayerSchedule
from tilewright.target.memory import Link
from tilewright.target.target import Target


def check_events(epochs: Sequence[Epoch], schedule: ClusterSchedule, graph: Graph, target: Target) -> None:
    """Raises `InternalError` for the first thing that could go wrong."""
    checker = _Checker(schedule, graph, target)
    for epoch in epochs:
        checker.run(epoch)
    checker.end()


@dataclass
class _Held:
    """What a home of tensors holds."""

    owner: str
    start: int
    stop: int
    elements: dict[str, int] = field(default_factory=dict)
    """Tensor -> elements that have been written."""
    written: dict[str, set[Spans]] = field(default_factory=dict)
    overwritten: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Tensor -> the layer that writes over it, and what."""


@dataclass
class _Checker:
    schedule: ClusterSchedule
    graph: Graph
    target: Target
    epoch: int = 0
    position: int = 0
    live: dict[str, LiveAccesses] = field(default_factory=dict)
    """Memory -> accesses of this epoch, and those that are not over."""
    groups: dict[int, tuple[str, str, list[Access]]] = field(default_factory=dict)
    """Open group -> its agent, its link, its accesses."""
    begun: set[int] = field(default_factory=set)
    arrivals: dict[int, list[tuple[Region, str]]] = field(default_factory=dict)
    """Group -> what its targets hold when it is done."""
    jobs: list[tuple[int, list[Access], Call]] = field(default_factory=list)
    held: dict[tuple[str, str], int] = field(default_factory=dict)
    """(link, agent) -> groups that it had in this epoch when it began another."""
    submitted: int = 0
    buffers: dict[str, HeldBuffers] = field(default_factory=dict)
    homes: dict[str, list[_Held]] = field(default_factory=dict)
    calls: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    """(layer, kind) -> tiles that have been called, in order."""
    makers: dict[str, int] = field(init=False)
    """Tensor -> the layer that makes it. Views, and Concats whose operands are made in place, have none."""

    def __post_init__(self) -> None:
        layers = self.schedule.layers
        self.makers = {name: layer.number for layer in layers for name in layer.option.node.outputs}
        for state in self.graph.states:
            home, kind = self.schedule.homes[state.before], self.graph.types[state.before]
            kept = _Held(state.before, home.offset, home.offset + kind.bytes, {state.before: kind.elements})
            self.homes.setdefault(home.memory, []).append(kept)

    def run(self, epoch: Epoch) -> None:
        for event in epoch:
            self.position += 1
            self._event(event)
        self._check_groups()
        self.epoch += 1
        # Memories without any are left out: every constant, input and output is one, and epochs are many.
        kept = ((memory, accesses.still_open()) for memory, accesses in self.live.items())
        self.live = {memory: accesses for memory, accesses in kept if accesses.homes}

    def end(self) -> None:
        if self.groups:
            group, (agent, _, _) = next(iter(self.groups.items()))
            raise _fault("schedule", f"nobody waits for group {group} of {agent}")
        if self.jobs:
            raise _fault("schedule", f"nobody waits for job {self.jobs[0][0]}")
        for layer in self.schedule.layers:
            self._check_calls(layer)
        for name in self.graph.outputs:
            if name not in self.graph.constants and name not in self.graph.inputs:
                self._check_available(name, self.schedule.homes[name].owner, None, f"output '{name}'", -1, ())
        for state in self.graph.states:
            self._check_available(state.after, state.before, None, f"state '{state.name}'", -1, ())

    def _event(self, event: Event) -> None:
        if isinstance(event, Begin):
            self._begin(event)
        elif isinstance(event, Transfer):
            self._transfer(event)
        elif isinstance(event, Wait):
            self._wait(event)
        elif isinstance(event, Call):
            self._call(event)
        else:
            self._wait_job(event)

    def _check_groups(self) -> None:
        """Whoever begins a group while none is free waits for others to end theirs: one must be left if all others keep
        what they have."""
        for link in {name for name, _ in self.held}:
            opened = Counter(agent for agent, name, _ in self.groups.values() if name == link)
            begun = Counter({agent: count for (name, agent), count in self.held.items() if name == link})
            kept, there = (opened | begun).total(), self._link(link).groups
            if 1 < there <= kept:
                raise _fault("schedule", f"{kept} groups of transfers of {link} are kept, {there} are there")
        self.held.clear()

    # ---- transfers --------------------------------------------------------------------------------------------------

    def _begin(self, event: Begin) -> None:
        if event.group in self.begun:
            raise _fault("schedule", f"group {event.group} is begun twice")
        self.begun.add(event.group)
        self.groups[event.group] = event.agent, event.link, []
        self._link(event.link)
        held = sum(one[:2] == (event.agent, event.link) for one in self.groups.values()) - 1
        key = event.link, event.agent
        self.held[key] = max(held, self.held.get(key, 0))

    def _transfer(self, event: Transfer) -> None:
        where = f"layer {event.layer} tile {event.tile}, {event.kind} of {event.source.tensor}"
        if event.group not in self.groups:
            raise _fault(where, f"group {event.group} is not open")
        agent, link, accesses = self.groups[event.group]
        if (agent, link) != (event.agent, event.link):
            raise _fault(where, f"belongs to group {event.group} of {agent} and {link}")
        self._check_same(event, where)
        self._check_reach(event, where)
        self._check_holds(event.source, where, event.layer)
        for region, writes in ((event.source, False), (event.target, True)):
            accesses.append(self._access(region, writes, event.agent, False, where))
        # Until it is waited for, its target holds nothing that anyone may rely on.
        if self._is_home(event.target):
            self._held(event.target)
        else:
            self._forget(event.target.memory, event.target.start, event.target.stop)
        self.arrivals.setdefault(event.group, []).append((of_layer(event.target, event.layer), where))

    def _check_same(self, event: Transfer, where: str) -> None:
        source, target = event.source, event.target
        if source.role or target.role:
            expected = f"params {event.layer}", target.role, target.stop - target.start
            if (source.memory, source.role, source.stop - source.start) != expected:
                raise _fault(where, "moves something else than its parameters")
            return
        copies = self.schedule.layers[event.layer].prefetch
        if source.tensor != target.tensor and not (copies is not None and bool(copies.copies)):
            raise _fault(where, f"moves {source.tensor} to where {target.tensor} is expected")
        if source.spans != target.spans:
            raise _fault(where, f"moves {source.spans} to where {target.spans} is expected")
        for region in (source, target):
            self._check_size(region, where)

    def _check_size(self, region: Region, where: str) -> None:
        size = elements(region.spans) * BYTES[self.graph.types[region.tensor].dtype]
        held = region.stop - region.start
        if not region.owner and held != size:
            raise _fault(where, f"{size} bytes of {region.tensor} in a buffer of {held}")

    def _check_reach(self, event: Transfer, where: str) -> None:
        """Both ends are memories that the link joins."""
        ends = {self._memory(event.source), self._memory(event.target)}
        links = [link for link in self.target.links if link.name == event.link]
        joined = [{link.outer, link.inner} for link in links] + [{link.inner} for link in links if link.within_inner]
        if ends not in joined:
            raise _fault(where, f"{event.link} does not join {' and '.join(sorted(ends))}")

    def _memory(self, region: Region) -> str:
        """The memory of a region, whoever's bytes it is."""
        if region.memory in self.schedule.arenas:
            return region.memory
        if region.role == PARAMS:
            return self.target.hierarchy.l2.name
        return self.schedule.homes[region.owner or region.tensor].memory

    def _wait(self, event: Wait) -> None:
        if event.group not in self.groups:
            raise _fault("schedule", f"{event.agent} waits for group {event.group}, which is not open")
        agent, _, accesses = self.groups.pop(event.group)
        if agent != event.agent:
            raise _fault("schedule", f"{event.agent} waits for group {event.group} of {agent}")
        for access in accesses:
            access.end = self.epoch, self.position
        for region, where in self.arrivals.pop(event.group, []):
            self._hold(region, where)

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _call(self, event: Call) -> None:
        layer = self.schedule.layers[event.layer]
        where = f"layer {event.layer} tile {event.tile}, {event.kind}"
        self.calls.setdefault((event.layer, event.kind), []).append(event.tile)
        self._check_operands(event, layer, where)
        offloaded = event.kind == "submit"
        for region in event.reads:
            if not (offloaded and self._is_still_made(region, layer, where)):
                self._check_holds(region, where, event.layer)
        regions = [(region, False) for region in event.reads] + [(region, True) for region in event.writes]
        accesses = [self._access(*one, event.agent, not offloaded, where, offloaded) for one in regions]
        if offloaded:
            if event.job <= self.submitted:
                raise _fault(where, f"job {event.job} is submitted after job {self.submitted}")
            self.submitted = event.job
            self.jobs.append((event.job, accesses, event))
            return
        self._made(event, where)

    def _is_still_made(self, region: Region, layer: LayerSchedule, where: str) -> bool:
        """Whether jobs before make all of it, of an accelerator that begins none before those have ended. What jobs
        leave behind is known when they are waited for: till then, those are the last that write these bytes."""
        parts = set(self._parts(region.tensor)) if region.owner else set()
        missing = set(parts)
        for _, _, call in reversed(self.jobs):
            for one in call.writes:
                if one.tensor in missing and one.owner == region.owner:
                    missing -= {one.tensor} if self._is_made_before(call, one, layer) else set()
                elif one.tensor not in parts and self._is_written_over(region, one, call.layer == layer.number):
                    raise _fault(where, f"reads {place(region)}, which layer {call.layer} writes over before")
            if parts and not missing:
                return True
        return False

    def _is_made_before(self, call: Call, written: Region, layer: LayerSchedule) -> bool:
        """Whether a job of the same accelerator makes a whole tensor before it begins one of this layer's."""
        maker = self.schedule.layers[call.layer].option
        in_order = maker.kernel.in_order and layer.option.kernel.in_order and maker.engine == layer.option.engine
        return in_order and elements(written.spans) == self.graph.types[written.tensor].elements

    def _is_written_over(self, read: Region, written: Region, by_itself: bool) -> bool:
        """By an earlier job. A layer may have its results in the place of operands: tile by tile, those of its own."""
        in_place = by_itself and bool(read.owner) and read.owner == written.owner
        return read.memory == written.memory and not in_place and overlap(read, written)

    def _made(self, event: Call, where: str) -> None:
        for region in event.writes:
            self._hold(region, where)

    def _check_operands(self, event: Call, layer: LayerSchedule, where: str) -> None:
        """A call has the windows that the operator's own geometry says."""
        option, grid = layer.option, layer.option.grid
        found = grid.op.footprint(grid.shapes, grid.box(grid.indices(event.tile))) if grid.cuts else None
        regions = [region for region in (*event.reads, *event.writes) if not region.role]
        expected = sorted(
            (argument.operand.tensor, clipped(found, argument.operand.name, grid.types[argument.operand.name].shape))
            for argument in layer.arguments
            if not (argument.operand.is_result and _leaves_results(event, layer))
            if not (event.kind == "submit" and argument.operand.name in option.kernel.finished_with(grid.op))
        )
        if sorted((region.tensor, region.spans) for region in regions) != expected:
            raise _fault(where, "has other windows than its tile")
        for region in regions:
            self._check_size(region, where)
            if not region.owner and region.start % self._alignment(region.memory):
                raise _fault(where, f"{region.tensor} at {region.memory}+{region.start} is not aligned")

    def _alignment(self, memory: str) -> int:
        return next((m.alignment for m in self.target.memories if m.name == memory), 1)

    def _wait_job(self, event: WaitJob) -> None:
        if not 0 < event.job <= self.submitted:
            raise _fault("schedule", f"{event.agent} waits for job {event.job}, which was not submitted")
        # Jobs are done in order.
        while self.jobs and self.jobs[0][0] <= event.job:
            _, accesses, call = self.jobs.pop(0)
            for access in accesses:
                access.end = self.epoch, self.position
            self._made(call, f"layer {call.layer} tile {call.tile}")

    def _check_calls(self, layer: LayerSchedule) -> None:
        """Every tile once, in order but for cores that have tiles of their own."""
        option = layer.option
        first = "submit" if option.kernel.offloaded and option.mode == "offload" else "run"
        wanted = list(range(layer.tiles)) if option.mode != "dma_copy" else []
        kinds = {first: wanted}
        if first == "submit":
            kinds |= {"gather": wanted} if layer.gathers else {}
            kinds |= {"finish": wanted} if layer.finishes else {}
        for kind in ("run", "gather", "submit", "finish"):
            found = self.calls.get((layer.number, kind), [])
            ordered = sorted(found) if layer.loop == PER_CORE else found
            if ordered != kinds.get(kind, []):
                raise _fault(option.node.where, f"tiles {found} are called ({kind}) of {layer.tiles}")

    # ---- who has which bytes when -----------------------------------------------------------------------------------

    def _access(self, region: Region, writes: bool, agent: str, over: bool, what: str, job: bool = False) -> Access:
        self._check_inside(region, what)
        now = self.epoch, self.position
        made = Access(region, writes, agent, now, now if over else None, what, job)
        live = self.live.setdefault(region.memory, LiveAccesses())
        for other in live.near(region, writes):
            if not self._ordered(other, made) and overlap(other.region, region):
                raise _fault(what, f"{_verb(made)} {place(region)} while {other.what} {_verb(other)} it")
        live.add(made)
        return made

    def _ordered(self, earlier: Access, later: Access) -> bool:
        """Whether one is over before the other begins, whatever the order between barriers. An accelerator does one
        job after the other."""
        if earlier.end is None:
            return earlier.job and later.job
        if earlier.agent == later.agent:
            return True
        return earlier.end[0] < later.start[0]

    def _check_window(self, region: Region, what: str) -> None:
        """A window has the bytes that its home and its box give it."""
        home, element = self.schedule.homes[region.tensor], BYTES[self.graph.types[region.tensor].dtype]
        first, last = extent(region, element)
        base = home.offset if home.kind == ARENA else 0
        if region.owner in self.graph.constants and region.memory in self.schedule.arenas:
            base = region.start - first  # staged: checked where it is read
        if (region.start, region.stop) != (base + first, base + last):
            raise _fault(what, f"{place(region)} is not where {region.tensor}{list(region.spans)} is")

    def _check_inside(self, region: Region, what: str) -> None:
        if region.owner:
            self._check_window(region, what)
        size = self.schedule.arenas.get(region.memory)
        if region.start < 0 or region.stop < region.start or (size is not None and region.stop > size):
            raise _fault(what, f"{place(region)} is outside the {size} bytes of {region.memory}")

    # ---- what bytes hold --------------------------------------------------------------------------------------------

    def _check_holds(self, region: Region, where: str, layer: int) -> None:
        if region.memory not in self.schedule.arenas:
            self._check_given(region, where, layer)
        elif region.owner:
            self._check_available(region.tensor, region.owner, region, where, layer, region.spans)
        elif of_layer(region, layer) not in self.buffers.get(region.memory, HeldBuffers()):
            raise _fault(where, f"{place(region)} does not hold {region.tensor}{list(region.spans)}")

    def _check_given(self, region: Region, where: str, layer: int) -> None:
        """Constants and inputs are there from the beginning; outputs when they have been made."""
        if region.role == PARAMS or region.memory.startswith(("constant ", "input ")):
            return
        self._check_available(region.tensor, region.owner, region, where, layer, region.spans)

    def _check_available(
        self, tensor: str, owner: str, region: Region | None, where: str, layer: int, spans: Spans
    ) -> None:
        """Everything that a tensor is made of has been written where it is looked for, and not been written over."""
        if owner in self.graph.constants and region is not None and region.memory in self.schedule.arenas:
            base = region.start - extent(region, BYTES[self.graph.types[tensor].dtype])[0]
            staged = [held for held in self.buffers.get(region.memory, ()) if held.owner == owner]
            if not any(held.start == base and region.stop <= held.stop for held in staged):
                raise _fault(where, f"{place(region)} does not hold {tensor}, which is staged there")
            return
        home = self.schedule.homes[tensor]
        space = home.memory if home.kind == ARENA else f"{home.kind} {home.owner}"
        held = next((held for held in self.homes.get(space, ()) if held.owner == owner), None)
        for part in self._parts(tensor):
            if part in self.graph.inputs or part in self.graph.constants or not self.graph.types[part].elements:
                continue
            made = held.elements.get(part, 0) if held else 0
            if made != self.graph.types[part].elements:
                raise _fault(where, f"{made} of {self.graph.types[part].elements} elements of {part} are in {space}")
            if held is not None and part in held.overwritten:
                by, other = held.overwritten[part]
                if by != layer or spans in held.written.get(other, ()):
                    raise _fault(where, f"layer {by} has written over {part}")

    def _hold(self, region: Region, where: str) -> None:
        """From now on these bytes hold that."""
        if not self._is_home(region):
            self._forget(region.memory, region.start, region.stop)
            self.buffers.setdefault(region.memory, HeldBuffers()).hold(region)
            return
        held = self._held(region)
        if region.spans in held.written.setdefault(region.tensor, set()) and region.spans:
            raise _fault(where, f"{region.tensor}{list(region.spans)} is written twice")
        held.written[region.tensor].add(region.spans)
        held.elements[region.tensor] = held.elements.get(region.tensor, 0) + elements(region.spans)
        for other in held.elements:
            if other != region.tensor and other not in held.overwritten and self._share(other, region.tensor):
                held.overwritten[other] = self.makers[region.tensor], region.tensor

    def _share(self, one: str, other: str) -> bool:
        """Whether two tensors of one owner have bytes in common: parts of a Concat have none."""
        places = [self._place_in_concat(name) for name in (one, other)]
        return None in places or places[0][0] != places[1][0] or places[0][1] == places[1][1]  # type: ignore[index]

    def _parts(self, name: str) -> Iterator[str]:
        """The tensors whose bytes a tensor has: those that it is a view of, or a Concat that no layer makes."""
        maker = self.graph.producers.get(name)
        if maker is None or name in self.makers or not (maker.op.view or isinstance(maker.op, Concat)):
            yield name
            return
        for operand in maker.inputs[:1] if maker.op.view else maker.inputs:
            yield from self._parts(operand)

    def _place_in_concat(self, name: str) -> tuple[str, str] | None:
        """The Concat without a layer that a tensor is a part of, and the tensor."""
        readers = [node for node in self.graph.consumers.get(name, ()) if isinstance(node.op, Concat)]
        reader = next((node for node in readers if node.key not in self.makers), None)
        return None if reader is None else (reader.key, name)

    def _held(self, region: Region) -> _Held:
        homes = self.homes.setdefault(region.memory, [])
        found = next((held for held in homes if held.owner == region.owner), None)
        if found is None:
            home = self.schedule.homes[region.owner]
            base = home.offset if home.kind == ARENA else 0
            size = self.graph.types[region.owner].bytes
            self._forget(region.memory, base, base + size)
            homes = self.homes[region.memory]
            found = _Held(region.owner, base, base + size)
            homes.append(found)
        if region.start < found.start or region.stop > found.stop:
            raise _fault(region.tensor, f"{place(region)} is outside its home {found.start}..{found.stop}")
        return found

    def _is_home(self, region: Region) -> bool:
        """Whether it is a window of a tensor that layers make; constants in L2 are staged like buffers."""
        return bool(region.owner) and region.owner not in self.graph.constants

    def _forget(self, memory: str, start: int, stop: int) -> None:
        """These bytes hold nothing any more."""
        if buffers := self.buffers.get(memory):
            buffers.forget(start, stop)
        if homes := self.homes.get(memory):
            self.homes[memory] = [held for held in homes if held.stop <= start or held.start >= stop]

    def _link(self, name: str) -> Link:
        found = next((link for link in self.target.links if link.name == name), None)
        if found is None:
            raise _fault("schedule", f"there is no link {name}")
        return found


def _leaves_results(event: Call, layer: LayerSchedule) -> bool:
    """Whether a call writes its working memory only."""
    return event.kind == "gather" or (event.kind == "submit" and layer.finishes)


def _verb(access: Access) -> str:
    return "writes" if access.writes else "reads"


def _fault(where: str, what: str) -> InternalError:
    return InternalError(where, what)

"""What an agent does, event by event: its trees walked with the values of loop variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from tilewright.errors import InternalError
from tilewright.ir.affine import Affine
from tilewright.planner.home import ARENA, Home
from tilewright.planner.keys import PARAMS
from tilewright.planner.program import program as p
from tilewright.planner.program.program import CORE, PERIOD, TEAM, TILES, Body, value
from tilewright.planner.schedule.events import (
    AwaitGroup,
    AwaitJob,
    Begin,
    Region,
    ServeOthers,
    Spans,
    Transfer,
    core,
    window_region,
)
from tilewright.planner.schedule.layer_schedule import LayerSchedule, Move
from tilewright.planner.schedule.regions import own_buffer
from tilewright.planner.schedule.unrolled_moves import Barrier, Moves, Stream
from tilewright.records import dataclass

MOST_TURNS = 1 << 20
"""Of a loop; one with more never ends."""

Values = Mapping[str, int]


@dataclass
class AgentEvents:
    agent: str
    moves: Moves
    early: bool = False
    jobs: int = 0
    tags: dict[tuple[str, str], int] = field(default_factory=dict)
    """(agent, tag) -> its open group."""
    fetched: dict[int, int] = field(default_factory=dict)
    """Layer -> the group of what was prefetched for it."""
    given: dict[tuple[str, int], int] = field(default_factory=dict)
    """(tag, which of two) -> job."""
    submitted: dict[int, int] = field(default_factory=dict)
    """Layer -> its last job."""
    staging: list[tuple[str, int]] = field(default_factory=list)
    """Memories from which constants are in flight to the home, and the groups of these."""

    def events(self, bodies: Iterable[Body]) -> Stream:
        for body in bodies:
            layers = self.moves.schedule.layers
            layer = layers[body.layer] if body.layer < len(layers) else None
            known = {TEAM: self.moves.schedule.cores}
            if layer is not None:
                known |= {TILES: layer.tiles, PERIOD: layer.held_tiles}
            yield from self._all((*body.before, *body.events), layer, known, self.agent)
        yield Barrier(frozenset(self.moves.schedule.program.agents))

    def _all(self, events: p.Events, layer: LayerSchedule | None, known: Values, agent: str) -> Stream:
        for event in events:
            yield from self._one(event, layer, known, agent)

    def _one(self, event: p.Event, layer: LayerSchedule | None, known: Values, agent: str) -> Stream:
        if isinstance(event, p.Barrier):
            yield Barrier(event.group)
        elif isinstance(event, p.Stage):
            yield from self._stage(event.layer)
        elif isinstance(event, p.WaitStaged):
            yield from (AwaitGroup(agent, group) for memory, group in self.staging if memory in event.memories)
            self.staging = [one for one in self.staging if one[0] not in event.memories]
        elif isinstance(event, p.Prefetch):
            yield from self._prefetches(event, known)
        elif isinstance(event, p.WaitLayer):
            yield AwaitJob(agent, _job(self.submitted.pop(event.layer, None), f"layer {event.layer}"))
        elif isinstance(event, p.FinishLayer):
            yield self.moves.regions.call(self.moves.schedule.layers[event.layer], agent, p.FINISH, 0, 0, 0)
        elif isinstance(event, p.Serve):
            yield ServeOthers(agent)
        elif layer is None:
            raise InternalError("schedule", f"{event} is in no layer")
        else:
            yield from self._of_layer(event, layer, known, agent)

    def _of_layer(self, event: p.Event, layer: LayerSchedule, known: Values, agent: str) -> Stream:
        if isinstance(event, p.For):
            yield from self._loop(event, layer, known, agent)
        elif isinstance(event, p.Each):
            for number in range(self.moves.schedule.cores):
                yield from self._all(event.events, layer, {**known, CORE: number}, core(number))
        elif isinstance(event, p.Group):
            yield from self._group(event, layer, known, agent)
        elif isinstance(event, p.Wait):
            if (group := self.tags.pop((agent, event.tag), None)) is not None:
                yield AwaitGroup(agent, group)
        elif isinstance(event, p.WaitPrefetch):
            if layer.number in self.fetched:
                yield AwaitGroup(agent, self.fetched.pop(layer.number))
        elif isinstance(event, p.Call):
            tile, turn = self._index(event.tile, known), self._index(event.turn, known)
            if 0 <= tile < layer.tiles:
                yield self.moves.regions.call(layer, agent, event.what, tile, turn, known.get(CORE, 0))
        elif isinstance(event, p.Submit):
            yield from self._submit(event, layer, known, agent)
        elif isinstance(event, p.WaitJob):
            tile = self._index(event.tile, known)
            yield AwaitJob(agent, _job(self.given.get((event.tag, tile % 2)), f"layer {layer.number} tile {tile}"))

    def _loop(self, event: p.For, layer: LayerSchedule, known: Values, agent: str) -> Stream:
        first, stop, step = (self._index(one, known) for one in (event.first, event.stop, event.step))
        if step < 1 or (stop - first) // step > MOST_TURNS:
            raise InternalError("schedule", f"a loop of layer {layer.number} goes from {first} to {stop} by {step}")
        for turn, at in enumerate(range(first, stop, step)):
            inside = {**known, event.variable: at, **({event.counter: turn} if event.counter else {})}
            yield from self._all(event.events, layer, inside, agent)

    def _index(self, index: Affine, known: Values) -> int:
        if any(name not in known for name, _ in index.terms):
            raise InternalError("schedule", f"an index has {index.terms}, of which only {sorted(known)} are known")
        return value(index, known)

    # ---- transfers --------------------------------------------------------------------------------------------------

    def _group(self, event: p.Group, layer: LayerSchedule, known: Values, agent: str) -> Stream:
        tiles = [(move.what, self._index(move.tile, known), self._index(move.turn, known)) for move in event.moves]
        there = [one for one in tiles if 0 <= one[1] < layer.tiles]
        if not there:
            return
        group = self.moves.begin()
        yield Begin(agent, group, self.moves.memories.tile_link.name, asks=event.by == p.REQUEST)
        for what, tile, turn in there:
            moved = _moved(layer, what)
            yield from self.moves.into(group, layer, moved, agent, tile, turn, known.get(CORE, 0))
        if event.by == p.COPY:
            yield AwaitGroup(agent, group)
        else:
            self.tags[agent, event.tag] = group

    def _prefetches(self, event: p.Prefetch, known: Values) -> Stream:
        if self._index(event.tile, known) == 0:
            for number in event.layers:
                yield from self._prefetch(number)

    def _prefetch(self, number: int) -> Stream:
        layer, link = self.moves.schedule.layers[number], self.moves.memories.tile_link.name
        if layer.prefetch is None:
            return
        group = self.fetched[number] = self.moves.begin()
        yield Begin(self.agent, group, link)
        if layer.prefetch.copies:
            yield self.moves.copy(layer, group, self.agent)
        if layer.params is not None:
            target = own_buffer(layer.params, PARAMS, 0, 0, ())
            source = Region(f"params {number}", 0, layer.params.bytes, PARAMS, (), role=PARAMS)
            yield Transfer(self.agent, link, group, number, 0, source, target)
        for move in layer.prefetch.moves:
            yield self.moves.transfer(layer, move, group, self.agent, 0, 0, 0)

    def _stage(self, number: int) -> Stream:
        memories, types = self.moves.memories, self.moves.schedule.graph.types
        for staged in self.moves.schedule.layers[number].staged:
            kind, home = types[staged.constant], Home("constant", staged.constant, staged.memory)
            spans: Spans = tuple((0, size) for size in kind.shape)
            stops = [*staged.passes, (memories.home.name, staged.offset)]
            places = [home, *(Home(ARENA, staged.constant, memory, offset) for memory, offset in stops)]
            regions = [window_region(place, staged.constant, kind, None, spans) for place in places]
            moved = [replace(region, stop=region.start + staged.bytes) for region in regions]
            ends = zip(memories.staging(home.memory), moved, moved[1:], strict=False)
            for left, (link, source, target) in zip(range(len(stops))[::-1], ends, strict=False):
                group = self.moves.begin()
                yield Begin(self.agent, group, link.name)
                yield Transfer(self.agent, link.name, group, number, 0, source, target)
                if left:
                    yield AwaitGroup(self.agent, group)
                else:
                    self.staging.append((link.outer, group))

    # ---- accelerators -----------------------------------------------------------------------------------------------

    def _submit(self, event: p.Submit, layer: LayerSchedule, known: Values, agent: str) -> Stream:
        prefetch = () if event.prefetch is None else (event.prefetch,)
        if self.early:
            yield from self._all((*event.meanwhile, *prefetch), layer, known, agent)
        if event.meets:
            yield Barrier(p.EVERYBODY)
        tile = self._index(event.tile, known)
        if not 0 <= tile < layer.tiles:
            raise InternalError("schedule", f"tile {tile} of layer {layer.number} is submitted, of {layer.tiles}")
        self.jobs += 1
        yield self.moves.regions.call(layer, agent, "submit", tile, tile, 0, self.jobs)
        if event.tag:
            self.given[event.tag, tile % 2] = self.jobs
        else:
            self.submitted[layer.number] = self.jobs
        if not self.early:
            yield from self._all((*prefetch, *event.meanwhile), layer, known, agent)


def _job(number: int | None, where: str) -> int:
    if number is None:
        raise InternalError(where, "is waited for and was not submitted")
    return number


def _moved(layer: LayerSchedule, what: str) -> tuple[Move, ...]:
    return {p.LOAD: layer.tile_loads, p.RENEW: layer.renewals, p.STORE: layer.stores}[what]

"""The transfers of tiles, one by one: between L1 and where tensors live, through a staging buffer if that is L3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tilewright.errors import InternalError
from tilewright.planner.schedule.events import AwaitGroup, Begin, Region, TileEvent, Transfer
from tilewright.planner.schedule.layer_schedule import LayerSchedule, Move, Slots
from tilewright.planner.schedule.regions import Regions
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.memory import Paths


@dataclass(frozen=True)
class Barrier:
    """Where all agents of a group meet."""

    group: frozenset[str]


Stream = Iterator[TileEvent | Barrier]


@dataclass
class Moves:
    """What all agents have started so far: groups of transfers are numbered in the order of their start."""

    schedule: Schedule
    regions: Regions = field(default_factory=Regions)
    groups: int = 0
    marks: dict[tuple[int, str, int], int] = field(default_factory=dict)
    """(layer, operand, offset of its staging buffer) -> the last transfer between that and L3."""
    behind: dict[str, list[int]] = field(default_factory=dict)
    """Agent -> groups of its transfers between L2 and L3 that it has not waited for."""

    @property
    def memories(self) -> Paths:
        return self.schedule.target.paths

    def begin(self) -> int:
        self.groups += 1
        return self.groups

    def into(
        self, group: int, layer: LayerSchedule, moves: tuple[Move, ...], agent: str, tile: int, turn: int, number: int
    ) -> Stream:
        """The transfers of a tile, as part of a group."""
        for move in moves:
            if not move.when.holds(tile, turn):
                continue
            if move.staging is None:
                yield self.transfer(layer, move, group, agent, tile, turn, number)
            elif move.operand.is_result:
                yield from self._store_behind(layer, move, agent, tile, turn, number)
            else:
                yield from self._load_from_behind(layer, move, group, agent, tile, turn, number)

    def transfer(
        self, layer: LayerSchedule, move: Move, group: int, agent: str, tile: int, turn: int, number: int
    ) -> Transfer:
        home = self.regions.window(layer, move.operand, move.home, tile)
        buffer = self.regions.operand_buffer(layer, move.operand, move.buffer, tile, turn, number)
        source, target = (buffer, home) if move.operand.is_result else (home, buffer)
        return Transfer(agent, self.memories.tile_link.name, group, layer.number, tile, source, target)

    def copy(self, layer: LayerSchedule, group: int, agent: str) -> Transfer:
        """A layer that is nothing but a transfer."""
        by_name = {argument.operand.name: argument for argument in layer.arguments}
        source, target = (self.regions.window(layer, by_name[n].operand, by_name[n].home, 0) for n in ("X", "Y"))
        return Transfer(agent, self.memories.tile_link.name, group, layer.number, 0, source, target)

    # ---- by way of L2 -----------------------------------------------------------------------------------------------

    def _load_from_behind(
        self, layer: LayerSchedule, move: Move, group: int, agent: str, tile: int, turn: int, number: int
    ) -> Stream:
        """A tile's part comes from L3, unless it has been sent for already, and goes on; the next one is sent for."""
        first = turn == 0 if layer.is_per_core else tile == 0
        if not move.ahead or first:
            yield from self._pass(layer, move, agent, tile, turn, number)
        yield from self._wait_for_mark(layer, move, agent, turn, number)
        staged = self._staged(layer, move, tile, turn, number)
        buffer = self.regions.operand_buffer(layer, move.operand, move.buffer, tile, turn, number)
        yield Transfer(agent, self.memories.tile_link.name, group, layer.number, tile, staged, buffer)
        stride = self.schedule.cores if layer.is_per_core else move.when.period
        if move.ahead and tile + stride < layer.tiles:
            yield from self._pass(layer, move, agent, tile + stride, turn + move.when.period, number)

    def _store_behind(self, layer: LayerSchedule, move: Move, agent: str, tile: int, turn: int, number: int) -> Stream:
        """A tile's part leaves L1 when its staging buffer is free; after the last one, all have arrived."""
        yield from self._wait_for_mark(layer, move, agent, turn, number)
        group, link = self.begin(), self.memories.tile_link.name
        buffer = self.regions.operand_buffer(layer, move.operand, move.buffer, tile, turn, number)
        yield Begin(agent, group, link)
        yield Transfer(agent, link, group, layer.number, tile, buffer, self._staged(layer, move, tile, turn, number))
        yield AwaitGroup(agent, group)
        yield from self._pass(layer, move, agent, tile, turn, number)
        if tile + (self.schedule.cores if layer.is_per_core else 1) >= layer.tiles:
            yield from self._wait_for_mark(layer, move, agent, turn, number)

    def _pass(self, layer: LayerSchedule, move: Move, agent: str, tile: int, turn: int, number: int) -> Stream:
        """Between a staging buffer and L3."""
        (link, *_), group = [one.name for one in self.memories.staging(move.home.memory)] or [""], self.begin()
        home = self.regions.window(layer, move.operand, move.home, tile)
        staged = self._staged(layer, move, tile, turn, number)
        source, target = (staged, home) if move.operand.is_result else (home, staged)
        self.marks[self._mark(layer, move, turn, number)] = group
        self.behind.setdefault(agent, []).append(group)
        yield Begin(agent, group, link)
        yield Transfer(agent, link, group, layer.number, tile, source, target)

    def _wait_for_mark(self, layer: LayerSchedule, move: Move, agent: str, turn: int, number: int) -> Stream:
        """Transfers of that link are done in order: all before are done too."""
        mark = self.marks.get(self._mark(layer, move, turn, number), 0)
        pending = self.behind.get(agent, [])
        yield from (AwaitGroup(agent, group) for group in pending if group <= mark)
        self.behind[agent] = [group for group in pending if group > mark]

    def _mark(self, layer: LayerSchedule, move: Move, turn: int, number: int) -> tuple[int, str, int]:
        return layer.number, move.operand.name, _staging(move).at(turn, number)

    def _staged(self, layer: LayerSchedule, move: Move, tile: int, turn: int, number: int) -> Region:
        return self.regions.operand_buffer(layer, move.operand, _staging(move), tile, turn, number)


def _staging(move: Move) -> Slots:
    if move.staging is None:
        raise InternalError("schedule", f"{move.operand.name} has no staging buffer")
    return move.staging

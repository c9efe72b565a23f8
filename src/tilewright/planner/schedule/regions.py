"""The bytes that a schedule's transfers and calls touch in a tile."""

from __future__ import annotations

from dataclasses import field

from tilewright.ir.types import BYTES
from tilewright.planner.cluster.tiling_option import Operand
from tilewright.planner.home import Home
from tilewright.planner.keys import PARAMS, SCRATCH
from tilewright.planner.schedule.events import Region, Spans, TileCall, window_region
from tilewright.planner.schedule.layer_schedule import Argument, LayerSchedule, Slots
from tilewright.records import dataclass

RECENT_TILES = 8
"""Tiles whose windows are remembered: one is loaded, another computed and a third stored at a time."""


@dataclass
class Regions:
    """Remembers the footprints of the tiles that were asked about last."""

    _footprints: dict[tuple[int, int], dict[str, Spans]] = field(default_factory=dict)
    """Of the tiles that were asked about last."""

    def call(
        self, layer: LayerSchedule, agent: str, kind: str, tile: int, turn: int, number: int, job: int = -1
    ) -> TileCall:
        unread = layer.epilogue_operands if kind == "submit" else frozenset()
        operands = [a for a in layer.arguments if not a.operand.is_result and a.operand.name not in unread]
        reads = [self._argument(layer, a, tile, turn, number) for a in operands]
        writes = [self._argument(layer, a, tile, turn, number) for a in layer.arguments if a.operand.is_result]
        if layer.params is not None:
            reads.append(own_buffer(layer.params, PARAMS, 0, 0, ()))
        if layer.scratch is not None:
            scratch = own_buffer(layer.scratch, SCRATCH, turn, number, ((tile, tile + 1),))
            if kind == "finish" or (kind == "submit" and layer.has_prologue):
                reads.append(scratch)
            if kind != "finish":
                writes.append(scratch)
        if kind == "gather" or (kind == "submit" and layer.has_epilogue):
            writes = [region for region in writes if region.role == SCRATCH]
        return TileCall(agent, kind, layer.number, tile, tuple(reads), tuple(writes), job)

    def _argument(self, layer: LayerSchedule, argument: Argument, tile: int, turn: int, number: int) -> Region:
        if argument.buffer is None:
            return self.window(layer, argument.operand, argument.home, tile)
        return self.operand_buffer(layer, argument.operand, argument.buffer, tile, turn, number)

    def window(self, layer: LayerSchedule, operand: Operand, home: Home, tile: int) -> Region:
        grid = layer.option.grid
        kind, place = grid.types[operand.name], grid.inside.get(operand.name)
        return window_region(home, operand.tensor, kind, place, self._spans(layer, operand, tile))

    def operand_buffer(
        self, layer: LayerSchedule, operand: Operand, slots: Slots, tile: int, turn: int, number: int
    ) -> Region:
        spans = self._spans(layer, operand, tile)
        kind = layer.option.grid.types[operand.name]
        size = BYTES[kind.dtype]
        for first, last in spans:
            size *= last - first
        start = slots.at(turn, number)
        return Region(slots.memory, start, start + size, operand.tensor, spans)

    def _spans(self, layer: LayerSchedule, operand: Operand, tile: int) -> Spans:
        grid, key = layer.option.grid, (layer.number, tile)
        if not grid.cuts:
            return tuple((0, size) for size in grid.types[operand.name].shape)
        if key not in self._footprints:
            if len(self._footprints) == RECENT_TILES:
                self._footprints.pop(next(iter(self._footprints)))
            self._footprints[key] = grid.windows(grid.indices(tile))
        return self._footprints[key][operand.name]


def own_buffer(slots: Slots, role: str, turn: int, number: int, spans: Spans) -> Region:
    """A layer's parameters or working memory."""
    start = slots.at(turn, number)
    return Region(slots.memory, start, start + slots.bytes, role, spans, role=role)

"""What a layer's tiles move and compute, wherever its tensors live, and the cycles that it takes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from tilewright.planner.cluster.tile_params import scratch_of
from tilewright.planner.cluster.tiling_option import Layer, Limits
from tilewright.records import dataclass
from tilewright.target.cost_model import busiest_core_cycles, cold_cycles, grid_cycles, overlapped
from tilewright.target.costs import Costs
from tilewright.target.kernel import CycleEstimate, Kernel
from tilewright.target.memory import Link, Path
from tilewright.tiling.dma_shapes import cost
from tilewright.tiling.tiles import Cut, TileGrid


class OperandTile(NamedTuple):
    """What a grid makes of an operand or result, wherever it lives."""

    name: str
    tensor: str
    bytes: int
    contiguous: bool
    moves: bool
    """Whether another part is needed after some tiles."""
    commands: int
    runs: int

    def given(self, link: Link) -> int:
        """Commands that a link is given for it."""
        return self.commands if link.strided else self.runs


class Order(NamedTuple):
    """Which loop is the outer one matters for how often parts come, and for nothing else."""

    cuts: tuple[Cut, ...]
    """Outermost first."""
    periods: tuple[int, ...]
    """Of every operand and result: tiles after which another part is needed, 0 if never."""


@dataclass(frozen=True)
class GridInfo:
    """What is true of a grid, whichever of its loops is the outer one."""

    grid: TileGrid
    parts: tuple[OperandTile, ...]
    scratch: int
    timeline: CycleEstimate
    """What the kernel's calls take."""
    cold: float
    """Cycles until the kernel's code is in the caches."""
    busiest: float
    """What the calls of the core that has most take, where each core has its own tiles."""

    @cached_property
    def tiles(self) -> int:
        return self.grid.tiles

    @cached_property
    def orders(self) -> tuple[Order, ...]:
        """Those that differ in how often parts come."""
        loops = [self.grid.loops_of(part.name) for part in self.parts]
        found: dict[tuple[int, ...], Order] = {}
        for cuts in itertools.permutations(self.grid.cuts):
            periods = tuple(_period(cuts, moving) for moving in loops)
            found.setdefault(periods, Order(cuts, periods))
        return tuple(found.values())


class OperandTiles:
    """Of a layer's operands and results, for any of its grids: each depends only on the cuts of its own loops."""

    def __init__(self, layer: Layer) -> None:
        self.tensors = {**layer.node.operands(), **layer.node.results()}
        self.names = tuple(layer.types)
        self.known: dict[object, OperandTile] = {}

    def of(self, grid: TileGrid) -> tuple[OperandTile, ...]:
        return tuple([self._one(grid, name) for name in self.names])

    def _one(self, grid: TileGrid, name: str) -> OperandTile:
        loops = grid.geometry.loops[name]
        key = name, tuple([(cut.loop, cut.size) for cut in grid.cuts if cut.loop in loops]), not grid.cuts
        if key not in self.known:
            self.known[key] = _part(grid, name, self.tensors[name])
        return self.known[key]


def grid_info(layer: Layer, grid: TileGrid, parts: tuple[OperandTile, ...], limits: Limits) -> GridInfo:
    scratch = scratch_of(layer.kernel, grid, {cut.loop: 0 for cut in grid.cuts})
    estimate = grid_cycles(limits.costs, layer.kernel, grid, limits.cores)
    takes_turns = not (layer.kernel.cooperative or layer.kernel.offloaded)
    workers = min(limits.cores, grid.tiles)
    busiest = busiest_core_cycles(limits.costs, layer.kernel, grid, workers) if takes_turns else 0.0
    return GridInfo(grid, parts, scratch, estimate, cold_cycles(limits.costs, layer.kernel), busiest)


def _part(grid: TileGrid, name: str, tensor: str) -> OperandTile:
    commands, runs, size = cost(grid, name)
    return OperandTile(name, tensor, size, grid.is_contiguous(name), bool(grid.loops_of(name)), commands, runs)


def _period(cuts: Sequence[Cut], loops: frozenset[str]) -> int:
    inner = itertools.takewhile(lambda cut: cut.loop not in loops, reversed(cuts))
    return math.prod(cut.count for cut in inner) if loops else 0


class Stream(NamedTuple):
    """An operand or result that is copied between its home and buffers."""

    position: int
    """Among all of the layer's."""
    part: OperandTile
    is_result: bool
    is_ready: bool
    spilled: bool


class ExecMode(NamedTuple):
    """How the tiles of a layer are worked on."""

    kernel: Kernel
    mode: str
    double: bool
    workers: int
    held: str = ""
    """With two buffers of all else, the operand that has one."""


def predicted(
    facts: GridInfo, streams: Sequence[Stream], periods: Sequence[int], manner: ExecMode, limits: Limits
) -> tuple[float, float]:
    """Cycles of the kernel's calls, and of the whole layer."""
    costs, dma, tiles, workers = limits.costs, limits.memories.tile_link, facts.tiles, manner.workers
    rounds = -(-tiles // workers)
    timeline = _described_ahead(facts.timeline) if _is_ahead(facts, streams, manner) else facts.timeline
    alone = overlapped(timeline, tiles, manner.double, costs.fetch) if manner.mode == "offload" else timeline.cores
    computing = facts.busiest if manner.mode == "per_core" else alone * rounds / tiles
    commands, incoming, outgoing, first, last, renewing = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for position, part, is_result, is_ready, _ in streams:
        period = periods[position]
        # What is ready of the first tile comes while the layer before is still at work.
        loads = (tiles / period if period else 1) - is_ready
        once = part.bytes * dma.read + (part.runs if is_result else 0)
        commands += loads * part.given(dma) * dma.command * costs.slower / workers
        if part.name == manner.held:
            renewing += (tiles / period - 1) * (once + costs.latency)
        elif is_result:
            outgoing, last = outgoing + once * loads, last + once
        else:
            incoming, first = incoming + once * loads, first + (0 if is_ready else once)
    fixed = costs.layer + facts.cold + rounds * costs.tile + commands
    fixed += costs.own_layer if manner.mode == "per_core" else 0.0
    waits = _waits(manner, tiles, costs, (first, last), (incoming, outgoing))
    if manner.double or tiles == 1:
        # Transfers of one tile begin when those of the tile before have been seen to end.
        again = 0.0 if manner.mode == "per_core" else (rounds - 1) * costs.latency
        moving = max(more + again if more > 0 else 0.0 for more in (incoming - first, outgoing - last))
        # Cores that gather wait for operands; only what else they do goes on meanwhile.
        hidden = computing + moving if manner.kernel.has_prologue else max(computing, moving)
        total = fixed + hidden + first + last + waits + renewing
    else:
        total = fixed + computing + incoming + outgoing + waits
    if manner.mode == "per_core":
        ends = ((first > 0) + (last > 0)) * costs.latency
        total = max(total, _asked(tiles, streams, periods) * dma.proxy_cycles + ends)
    return computing, _with_spilled(
        tiles, [s for s in streams if s.spilled], periods, manner, limits.memories.spilling, total
    )


def _waits(manner: ExecMode, tiles: int, costs: Costs, ends: tuple[float, float], moved: tuple[float, float]) -> float:
    """Latencies of what is loaded and stored: of the first and the last tile, or of all of them. Cores with tiles of
    their own wait at each, with two buffers too."""
    rounds = -(-tiles // manner.workers)
    if manner.mode == "per_core" and costs.own_transfer:
        return sum(cycles > 0 for cycles in moved) * rounds * costs.own_transfer
    times = 1 if manner.double else rounds
    return sum(cycles > 0 for cycles in ends) * times * costs.latency


def _asked(tiles: int, streams: Sequence[Stream], periods: Sequence[int]) -> int:
    """How often cores with tiles of their own ask for transfers: of a tile's operands, and of its results."""
    return tiles * len({stream.is_result for stream in streams if stream.is_result or periods[stream.position]})


def _is_ahead(facts: GridInfo, streams: Sequence[Stream], manner: ExecMode) -> bool:
    """Whether jobs are described while the layer before is still at work: nothing else has to be done between."""
    is_moved = any(stream.is_result or not stream.is_ready for stream in streams)
    return manner.kernel.can_preprogram and facts.tiles == 1 and not is_moved


def _described_ahead(timeline: CycleEstimate) -> CycleEstimate:
    return timeline if timeline.fills_queue else replace(timeline, submitting=0.0)


def _with_spilled(
    tiles: int, moving: Sequence[Stream], periods: Sequence[int], manner: ExecMode, path: Path | None, total: float
) -> float:
    """The same with transfers to and from behind the home: one after the other, and at the same time as all else but
    for the first part and the last, if there are buffers for it."""
    if not moving or path is None:
        return total
    (link,) = path.staging
    once = [s.part.given(link) * link.latency + s.part.bytes * _rate(s, link) for s in moving]
    times = list(_spilled_turns(tiles, moving, periods, manner))
    commands = sum(turns * s.part.given(link) for s, turns in zip(moving, times, strict=True)) * link.command
    bus = sum(map(float.__mul__, once, map(float, times)))
    ends = sum(once)
    if manner.double:
        return max(total, bus - ends) + ends + commands
    if manner.mode == "per_core":
        # One core at a time gives a command.
        return max(total + ends, bus + commands)
    return total + bus + commands


def _rate(stream: Stream, link: Link) -> float:
    return link.write if stream.is_result else link.read


def _spilled_turns(tiles: int, moving: Sequence[Stream], periods: Sequence[int], manner: ExecMode) -> Iterator[int]:
    """How often a part of each comes or goes."""
    for stream in moving:
        period = periods[stream.position]
        if manner.mode == "per_core":
            yield tiles if period else manner.workers
        else:
            yield tiles // period if period else 1

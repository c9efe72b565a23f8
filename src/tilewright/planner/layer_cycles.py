"""What a layer's tiles move and compute, wherever its tensors live, and the cycles that it takes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

from tilewright.planner.options import Layer, Limits, Operand, TilingOption
from tilewright.target.cost_model import cold_cycles, grid_cycles, overlapped
from tilewright.target.kernel import CycleEstimate
from tilewright.target.memory import Link
from tilewright.tiling.dma_shapes import cost
from tilewright.tiling.tiles import TileGrid


@dataclass(frozen=True)
class Part:
    """What a grid makes of an operand or result, wherever it lives."""

    name: str
    tensor: str
    bytes: int
    contiguous: bool
    period: int
    commands: int
    runs: int


@dataclass(frozen=True)
class Facts:
    grid: TileGrid
    parts: tuple[Part, ...]
    scratch: int
    timeline: CycleEstimate
    """What the kernel's calls take."""


def facts_of(layer: Layer, grid: TileGrid, limits: Limits) -> Facts:
    tensors = {**layer.node.operands(), **layer.node.results()}
    first = {cut.loop: 0 for cut in grid.cuts}
    scratch = layer.kernel.scratch(grid.local_op(first), grid.local_types(first))
    timeline = grid_cycles(limits.costs, layer.kernel, grid, limits.cores)
    return Facts(grid, tuple(_part(grid, name, tensors[name]) for name in layer.types), scratch, timeline)


def _part(grid: TileGrid, name: str, tensor: str) -> Part:
    loops = grid.loops_of(name)
    inner = itertools.takewhile(lambda cut: cut.loop not in loops, reversed(grid.cuts))
    period = math.prod(cut.count for cut in inner) if loops else 0
    commands, runs, size = cost(grid, name)
    return Part(name, tensor, size, grid.is_contiguous(name), period, commands, runs)


def timed(option: TilingOption, facts: Facts, workers: int, limits: Limits) -> TilingOption:
    costs, dma, tiles = limits.costs, limits.memories.dma, option.grid.tiles
    rounds = -(-tiles // workers)
    timeline = facts.timeline
    alone = overlapped(timeline, tiles, option.double, costs.fetch) if option.mode == "offload" else timeline.cores
    computing = alone * rounds / tiles
    commands, incoming, outgoing, first, last = 0.0, 0.0, 0.0, 0.0, 0.0
    for operand, part in zip(option.operands, facts.parts, strict=True):
        if not operand.streamed:
            continue
        # What is ready of the first tile comes while the layer before is still at work.
        loads = (tiles / operand.period if operand.period else 1) - operand.is_ready
        once = part.bytes * dma.read + (part.runs if operand.is_result else 0)
        commands += loads * part.commands * dma.command * costs.slower / workers
        if operand.is_result:
            outgoing, last = outgoing + once * loads, last + once
        else:
            incoming, first = incoming + once * loads, first + (0 if operand.is_ready else once)
    fixed = costs.layer + cold_cycles(costs, option.kernel) + rounds * costs.tile + commands
    latency = ((first > 0) + (last > 0)) * costs.latency
    if option.double or tiles == 1:
        hidden = max(computing, incoming - first, outgoing - last)
        total = fixed + hidden + first + last + latency
    else:
        total = fixed + computing + incoming + outgoing + rounds * latency
    total = _with_l3(option, facts, workers, limits.memories.udma, total)
    return replace(
        option, kernel_cycles=computing, cycles=total, engine_cycles=timeline.engine, fills_queue=timeline.fills_queue
    )


def _with_l3(option: TilingOption, facts: Facts, workers: int, udma: Link | None, total: float) -> float:
    """The same with what moves between the far memory and the store: one transfer after the other, and at the same time
    as all else but for the first part and the last, if there are buffers for it."""
    moving = [(o, part) for o, part in zip(option.operands, facts.parts, strict=True) if o.l3]
    if not moving or udma is None:
        return total
    once = [part.commands * udma.latency + part.bytes * _l3_rate(o, udma) for o, part in moving]
    times = [_l3_turns(option, o, workers) for o, _ in moving]
    commands = sum(turns * part.commands for (_, part), turns in zip(moving, times, strict=True)) * udma.command
    bus = sum(map(float.__mul__, once, map(float, times)))
    ends = sum(once)
    if option.double:
        return max(total, bus - ends) + ends + commands
    if option.mode == "per_core":
        # One core at a time gives a command.
        return max(total + ends, bus + commands)
    return total + bus + commands


def _l3_rate(operand: Operand, udma: Link) -> float:
    return udma.write if operand.is_result else udma.read


def _l3_turns(option: TilingOption, operand: Operand, workers: int) -> int:
    """How often a part of it comes or goes."""
    if option.mode == "per_core":
        return option.grid.tiles if operand.period else workers
    return option.grid.tiles // operand.period if operand.period else 1

"""What a layer's tiles move and compute, wherever its tensors live, and the cycles that it takes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tilewright.costs import cold_cycles, grid_cycles, overlapped
from tilewright.grid import Grid
from tilewright.transfers import cost

if TYPE_CHECKING:
    from tilewright.layers import Layer, Limits, Operand, Way
    from tilewright.target import Costs, Spent


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
    grid: Grid
    parts: tuple[Part, ...]
    scratch: int
    spent: Spent
    """What the kernel's calls take."""


def facts_of(layer: Layer, grid: Grid, limits: Limits) -> Facts:
    tensors = {**layer.node.operands(), **layer.node.results()}
    first = {cut.loop: 0 for cut in grid.cuts}
    scratch = layer.kernel.scratch(grid.local_op(first), grid.local_types(first))
    spent = grid_cycles(limits.costs, layer.kernel, grid, limits.cores)
    return Facts(grid, tuple(_part(grid, name, tensors[name]) for name in layer.types), scratch, spent)


def _part(grid: Grid, name: str, tensor: str) -> Part:
    loops = grid.loops_of(name)
    inner = itertools.takewhile(lambda cut: cut.loop not in loops, reversed(grid.cuts))
    period = math.prod(cut.count for cut in inner) if loops else 0
    commands, runs, size = cost(grid, name)
    return Part(name, tensor, size, grid.is_contiguous(name), period, commands, runs)


def timed(way: Way, facts: Facts, workers: int, limits: Limits) -> Way:
    costs, tiles = limits.costs, way.grid.tiles
    rounds = -(-tiles // workers)
    spent = facts.spent
    alone = overlapped(spent, tiles, way.double, costs.fetch) if way.mode == "offload" else spent.cores
    computing = alone * rounds / tiles
    commands, incoming, outgoing, first, last = 0.0, 0.0, 0.0, 0.0, 0.0
    for operand, part in zip(way.operands, facts.parts, strict=True):
        if not operand.streamed:
            continue
        # What is ready of the first tile comes while the layer before is still at work.
        loads = (tiles / operand.period if operand.period else 1) - operand.is_ready
        once = part.bytes / costs.bytes_per_cycle + (part.runs if operand.is_result else 0)
        commands += loads * part.commands * costs.command / workers
        if operand.is_result:
            outgoing, last = outgoing + once * loads, last + once
        else:
            incoming, first = incoming + once * loads, first + (0 if operand.is_ready else once)
    fixed = costs.layer + cold_cycles(costs, way.kernel) + rounds * costs.tile + commands
    latency = ((first > 0) + (last > 0)) * costs.latency
    if way.double or tiles == 1:
        hidden = max(computing, incoming - first, outgoing - last)
        total = fixed + hidden + first + last + latency
    else:
        total = fixed + computing + incoming + outgoing + rounds * latency
    total = _with_store(way, facts, workers, costs, total)
    return replace(
        way, kernel_cycles=computing, cycles=total, engine_cycles=spent.engine, fills_queue=spent.fills_queue
    )


def _with_store(way: Way, facts: Facts, workers: int, costs: Costs, total: float) -> float:
    """The same with what moves between the far memory and the store: one transfer after the other, and at the same time
    as all else but for the first part and the last, if there are buffers for it."""
    moving = [(o, part) for o, part in zip(way.operands, facts.parts, strict=True) if o.deep]
    if not moving:
        return total
    once = [part.commands * costs.store_setup + part.bytes * _store_rate(o, costs) for o, part in moving]
    times = [_store_turns(way, o, workers) for o, _ in moving]
    commands = sum(turns * part.commands for (_, part), turns in zip(moving, times, strict=True)) * costs.store_command
    bus = sum(map(float.__mul__, once, map(float, times)))
    ends = sum(once)
    if way.double:
        return max(total, bus - ends) + ends + commands
    if way.mode == "apart":
        # One core at a time gives a command.
        return max(total + ends, bus + commands)
    return total + bus + commands


def _store_rate(operand: Operand, costs: Costs) -> float:
    return costs.store_write if operand.is_result else costs.store_read


def _store_turns(way: Way, operand: Operand, workers: int) -> int:
    """How often a part of it comes or goes."""
    if way.mode == "apart":
        return way.grid.tiles if operand.period else workers
    return way.grid.tiles // operand.period if operand.period else 1

"""A check of the bytes that a cluster's schedule takes: of memories, buffers, parameters and working memory, against
what the target has and what the kernels' own functions say of every tile. Written without the planner's code."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from tilewright.errors import InternalError
from tilewright.ir.at_sizes import symbols_of
from tilewright.ir.op import Op, Params
from tilewright.ir.types import TensorType
from tilewright.planner.cluster.tile_params import Variants
from tilewright.planner.schedule.layer_schedule import LayerSchedule, Slots
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.stacks import CALLERS
from tilewright.target.kernel import Kernel
from tilewright.target.memory import ARENA, Memory, holding
from tilewright.target.struct_size import struct_bytes
from tilewright.target.target import Target
from tilewright.tiling.tiles import TileGrid

STACK_UNIT = 16
"""Bytes that stacks begin at multiples of, by the calling convention."""
MOST_TILES = 256
"""Of a grid with more, those at the edges and beside them are looked at, and as many others."""


def check_buffers(schedule: Schedule) -> None:
    """Raises `InternalError` for the first that is too small, not aligned or beyond its memory."""
    target, is_sized = schedule.target, bool(symbols_of(schedule.placed.mapped.graph))
    _check_cores(schedule, target)
    for layer in schedule.layers:
        _check_params(layer, target)
        _check_scratch(schedule, layer, target, is_sized)
        for what, slots, memory in _slots(layer, target):
            _check_slots(schedule, layer, what, slots, memory, target.paths.tiles.alignment)
    for memory in target.memories:
        _check_arena(schedule, memory)
    if unknown := schedule.arenas.keys() - {memory.name for memory in target.memories}:
        raise InternalError("schedule", f"has arenas of {sorted(unknown)}, which {target.name} has not")


# ---- memories -------------------------------------------------------------------------------------------------------


def _check_cores(schedule: Schedule, target: Target) -> None:
    agents = target.agents
    most = max(agents.cores, target.agents.threads)
    if not 1 <= schedule.cores <= most:
        raise InternalError("schedule", f"is for {schedule.cores} cores, {target.name} has 1 to {most}")
    stacks, tiles = schedule.stacks, target.paths.tiles
    if not agents.has_runtime:
        if stacks != CALLERS or schedule.cores != most:
            raise InternalError("schedule", f"has stacks for {schedule.cores} cores, which are the caller's")
        return
    kernels = {layer.option.kernel for layer in schedule.layers if not layer.is_copied}
    for kernel in kernels:
        needed = agents.stack + (kernel.stack or target.stacks.get(kernel.stem, 0))
        needed += agents.waiting_stack if kernel.in_order else 0
        own = stacks.dma_core if kernel.offloaded else stacks.each
        if needed > own or stacks.each % STACK_UNIT or stacks.dma_core % STACK_UNIT:
            raise InternalError("schedule", f"{kernel.stem} needs {needed} bytes of stack, there are {own}")
    inside = (schedule.cores * stacks.each + stacks.dma_core) * stacks.in_tile_memory
    taken = agents.state + inside + schedule.arenas.get(tiles.name, 0)
    if taken > (tiles.bytes or 0):
        raise InternalError("schedule", f"takes {taken} bytes of {tiles.bytes} in {tiles.name}")


def _check_arena(schedule: Schedule, memory: Memory) -> None:
    """An arena holds all that lies there, and nothing else; its memory holds it."""
    graph, target = schedule.graph, schedule.target
    size = schedule.arenas.get(memory.name, 0)
    ends = [
        slots.end for layer in schedule.layers for _, slots, _ in _slots(layer, target) if slots.memory == memory.name
    ]
    if memory == target.paths.home:
        ends += [staged.offset + staged.bytes for layer in schedule.layers for staged in layer.staged]
    ends += [
        offset + staged.bytes
        for layer in schedule.layers
        for staged in layer.staged
        for passed, offset in staged.passes
        if passed == memory.name
    ]
    homes = {name: home for name, home in schedule.homes.items() if home.is_in(memory.name)}
    ends += [home.offset + graph.types[name].bytes for name, home in homes.items()]
    needed = max(ends, default=0)
    # Tensors take whole units of L1 wherever they are.
    unit = max(memory.placement, target.paths.tiles.alignment)
    if size % memory.placement or not needed <= size <= -(-needed // unit) * unit:
        raise InternalError("schedule", f"{memory.name} has an arena of {size} bytes, {needed} are used")
    if memory.bytes is not None and size > memory.bytes - memory.reserved:
        raise InternalError("schedule", f"has an arena of {size} bytes, {memory.name} has {memory.bytes}")
    for name, home in homes.items():
        # Where no link takes it, a tensor may lie anywhere in another.
        linked = any(memory.name in (link.outer, link.inner) for link in target.links)
        unit = memory.placement if linked or home.owner == name else graph.types[name].element.itemsize
        if home.offset % unit or home.offset < 0:
            raise InternalError(f"tensor '{name}'", f"is at {home}, which is not aligned")


# ---- buffers --------------------------------------------------------------------------------------------------------


def _slots(layer: LayerSchedule, target: Target) -> Iterator[tuple[str, Slots, Memory]]:
    """All buffers of a layer, and the memory that they should be in."""
    tiles, home = target.paths.tiles, target.paths.home
    if layer.scratch is not None:
        # Where several memories may have a part of the arena, whichever of them.
        parts = {memory.name: memory for memory in holding(target.memories, ARENA)}
        tiles, home = (parts.get(layer.scratch.memory, memory) for memory in (tiles, home))
    staged = ((move.operand.name, move.staging) for move in (*layer.loads, *layer.stores))
    yield from ((a.operand.name, a.buffer, tiles) for a in layer.arguments if a.buffer is not None)
    yield from ((f"{name} in {home.name}", slots, home) for name, slots in staged if slots is not None)
    if layer.params is not None:
        yield "parameters", layer.params, tiles
    if layer.scratch is not None:
        yield "working memory", layer.scratch, home if layer.option.mode == "in_place" else tiles


def _check_slots(schedule: Schedule, layer: LayerSchedule, what: str, slots: Slots, memory: Memory, unit: int) -> None:
    """Buffers side by side are all as kernels want those of L1, also where they are copies in L2 of these."""
    where = f"{layer.option.node.where}, {what}"
    if slots.memory != memory.name:
        raise InternalError(where, f"is in {slots.memory}, not in {memory.name}")
    if slots.offset < 0 or slots.offset % memory.placement:
        raise InternalError(where, f"at {slots.memory}+{slots.offset} is not aligned")
    if slots.count > 1 and slots.bytes % unit:
        raise InternalError(where, f"has buffers of {slots.bytes} bytes side by side, which are not all aligned")
    if slots.turns not in (1, 2) or slots.period < 1 or (slots.turns == 1 and slots.period != 1):
        raise InternalError(where, f"has {slots.turns} buffers by turns of {slots.period}")
    workers = min(schedule.cores, layer.tiles) if layer.is_per_core else 1
    if slots.cores not in (1, workers):
        raise InternalError(where, f"is {slots.cores} cores' own, {workers} have tiles of their own")
    if slots.end > schedule.arenas.get(slots.memory, 0):
        raise InternalError(where, f"ends at {slots.memory}+{slots.end}, beyond the arena")


# ---- what kernels need, tile by tile --------------------------------------------------------------------------------


def tiles_to_check(grid: TileGrid) -> Iterator[dict[str, int]]:
    """Every tile; of very many, those at the edges and beside them, and some others."""
    if grid.tiles <= MOST_TILES:
        yield from (grid.indices(tile) for tile in range(grid.tiles))
        return
    ends = [sorted({0, min(1, cut.count - 1), max(cut.count - 2, 0), cut.count - 1}) for cut in grid.cuts]
    loops = [cut.loop for cut in grid.cuts]
    yield from (dict(zip(loops, indices, strict=True)) for indices in itertools.product(*ends))
    rng = random.Random(grid.tiles)
    yield from (grid.indices(rng.randrange(grid.tiles)) for _ in range(MOST_TILES))


LocalTypes = tuple[tuple[str, TensorType], ...]


def scratch_needed(kernel: Kernel, grid: TileGrid) -> int:
    """Bytes of working memory that some tile needs and none exceeds."""
    return max(kernel.scratch_bytes(op, dict(types)) for op, types in _distinct(grid))


def distinct_params(kernel: Kernel, grid: TileGrid) -> int:
    """How many tiles, at the least, have parameters that no other has."""
    found: list[Params] = []
    for op, types in _distinct(grid):
        params = kernel.params(op, dict(types))
        if params not in found:
            found.append(params)
    return len(found)


def _distinct(grid: TileGrid) -> Iterable[tuple[Op, LocalTypes]]:
    """Tiles as kernels see them, each kind once."""
    return dict.fromkeys((grid.local_op(tile), tuple(grid.local_types(tile).items())) for tile in tiles_to_check(grid))


def check_variants(kernel: Kernel, grid: TileGrid, variants: Variants) -> None:
    """Every tile finds its own parameters in the array."""

    @cache
    def params(op: Op, types: LocalTypes) -> Params:
        return kernel.params(op, dict(types))

    if any(selector.cut not in grid.cuts for selector in variants.selectors):
        raise InternalError(f"kernel {kernel.stem}", "has parameters for another grid")
    for tile in tiles_to_check(grid):
        wanted = params(grid.local_op(tile), tuple(grid.local_types(tile).items()))
        if _selected(kernel, variants, tile) != wanted:
            raise InternalError(f"kernel {kernel.stem}", f"the parameters of tile {tile} are not its own")


def _selected(kernel: Kernel, variants: Variants, tile: Mapping[str, int]) -> Params:
    """As C selects them: one more wherever a tile differs from the one before."""
    at = size = 0
    for selector in variants.selectors:
        changes = selector.changes
        if list(changes) != sorted({change for change in changes if 0 < change < selector.cut.count}):
            raise InternalError(f"kernel {kernel.stem}", f"has parameters that change at tiles {changes}")
        at = at * (len(changes) + 1) + sum(tile[selector.cut.loop] >= change for change in changes)
        size = (size or 1) * (len(changes) + 1)
    if len(variants.params) != max(size, 1):
        raise InternalError(
            f"kernel {kernel.stem}", f"has {len(variants.params)} sets of parameters, not {max(size, 1)}"
        )
    return variants.params[at]


def _check_params(layer: LayerSchedule, target: Target) -> None:
    kernel, where = layer.option.kernel, layer.option.node.where
    if (layer.tile_params is None) != layer.is_copied:
        raise InternalError(where, "has parameters without a kernel, or a kernel without parameters")
    prefetches = target.agents.prefetch_slots > 0
    if (layer.params is None) != (layer.option.mode in ("in_place", "dma_copy") or not prefetches):
        raise InternalError(where, "has parameters in L1 that nobody fetches, or none there that a kernel looks for")
    if layer.tile_params is None:
        return
    check_variants(kernel, layer.option.grid, layer.tile_params.variants)
    if not prefetches and not layer.tile_params.struct_bytes:
        return
    # The compiler asserts it too, in generated C.
    if layer.tile_params.struct_bytes != struct_bytes(target.kernel_text, kernel.params_header, kernel.params_type):
        raise InternalError(where, f"{layer.tile_params.struct_bytes} bytes are not those of a {kernel.params_type}")
    if layer.params is not None and (layer.params.bytes, layer.params.count) != (layer.tile_params.bytes, 1):
        raise InternalError(where, f"has {layer.params.bytes} bytes for parameters of {layer.tile_params.bytes}")


def _check_scratch(schedule: Schedule, layer: LayerSchedule, target: Target, is_sized: bool) -> None:
    """Every core that has tiles of its own has its own; cores finish a tile while an accelerator works on the next.

    Of a network with lengths, sizes below the largest may need more: `check_sizes` looks at those.
    """
    option, where, scratch = layer.option, layer.option.node.where, layer.scratch
    needed = 0 if layer.is_copied else scratch_needed(option.kernel, option.grid)
    if (scratch is None) != (needed == 0):
        raise InternalError(
            where, f"needs {needed} bytes of working memory and has {'none' if scratch is None else 'some'}"
        )
    if scratch is None:
        return
    turns = 2 if option.kernel.offloaded and option.double else 1
    workers = min(schedule.cores, layer.tiles) if layer.is_per_core else 1
    if (scratch.turns, scratch.cores) != (turns, workers):
        raise InternalError(where, f"has {scratch.count} working memories, needs {turns * workers}")
    unit = target.paths.tiles.alignment
    if option.kernel.cooperative and not target.agents.has_runtime and target.agents.threads > 1:
        needed = -(-needed // unit) * unit * target.agents.threads  # each thread has its own
    if needed > scratch.bytes or (not is_sized and scratch.bytes > -(-needed // unit) * unit):
        raise InternalError(where, f"needs {needed} bytes of working memory, there are {scratch.bytes}")

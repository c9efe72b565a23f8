"""Tiled options before they are written out: what each takes of L1 and of time. Of many, few are kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tilewright.planner.cluster.grids import grids
from tilewright.planner.cluster.layer_cycles import (
    ExecMode,
    GridInfo,
    OperandTile,
    OperandTiles,
    Order,
    Stream,
    grid_info,
    predicted,
)
from tilewright.planner.cluster.layer_homes import AT_HOME, Homes
from tilewright.planner.cluster.tiling_option import Layer, Limits, Operand, TilingOption
from tilewright.target.kernel import Kernel
from tilewright.target.memory import Memory, Paths
from tilewright.tiling.tiles import TileGrid

MOST_CUTS = 3
"""Loops that are cut at once; a third one only where two do not give tiles that fit."""

ENOUGH = 40
"""Grids whose tiles fit L1, after which no more loops are cut."""


class TilingCandidate(NamedTuple):
    """An option before it is written out: what it takes, and what it was made from."""

    facts: GridInfo
    order: Order
    home: Homes
    manner: ExecMode
    kernel_cycles: float
    cycles: float
    bytes: int
    prefetch_bytes: int
    can_stay_in_flight: bool


def all_sketches(layer: Layer, homes: Sequence[Homes], limits: Limits) -> Iterator[TilingCandidate]:
    """With more cuts only where fewer leave cores without a tile, or little to choose from."""
    wanted = limits.cores if _mode(layer.kernel) == "per_core" else 1
    for count in range(MOST_CUTS + 1):
        fitting, tiles = 0, 1
        for sketch in sketches(layer, count, homes, limits):
            fitting += math.factorial(count)
            tiles = max(tiles, sketch.facts.tiles)
            yield sketch
        if count > 0 and fitting >= ENOUGH and tiles >= wanted:
            break


def sketches(layer: Layer, count: int, homes: Sequence[Homes], limits: Limits) -> Iterator[TilingCandidate]:
    """Of every grid with `count` cuts and every choice of homes, those that fit L1 but for parameter structs: how
    many there are of these is known only when it is settled."""
    closest, known = Homes(layer.movable), OperandTiles(layer)
    for grid in grids(layer, count):
        parts = known.of(grid)
        single = _manner(layer, grid, False, limits)
        if sum(_streamed_bytes(_streams(layer, parts, closest), single, limits.memories.tiles)) > limits.tile_bytes:
            continue
        facts = grid_info(layer, grid, parts, limits)
        for home in homes:
            streams = _streams(layer, parts, home)
            for double in _bufferings(single.mode, facts.tiles, home, limits):
                for held in _held(layer, streams) if double else [""]:
                    manner = single._replace(double=double, held=held)
                    sketch = _sketch(layer, facts, home, streams, manner, limits)
                    if sketch is not None:
                        yield sketch


def holds_tiles(layer: Layer, grid: TileGrid, limits: Limits) -> bool:
    """Whether L1 holds tiles of a grid, with one buffer for each operand and activations in L2."""
    parts = OperandTiles(layer).of(grid)
    facts, manner = grid_info(layer, grid, parts, limits), _manner(layer, grid, False, limits)
    found = _sketch(layer, facts, AT_HOME, _streams(layer, parts, AT_HOME), manner, limits)
    return found is not None and found.bytes <= limits.tile_bytes


def _sketch(
    layer: Layer, facts: GridInfo, home: Homes, streams: Sequence[Stream], manner: ExecMode, limits: Limits
) -> TilingCandidate | None:
    """With the order of loops that is fastest; None where it does not fit L1."""
    tiles = limits.memories.tiles
    scratch = tiles.whole(facts.scratch) * _scratches(manner)
    prefetched, later = _streamed_bytes(streams, manner, tiles)
    if prefetched + later + scratch > limits.tile_bytes:
        return None
    orders = [order for order in facts.orders if not manner.held or _is_rare(facts, order, manner.held)]
    found = [(predicted(facts, streams, order.periods, manner, limits), order) for order in orders]
    if not found:
        return None
    (computing, cycles), order = min(found, key=lambda one: one[0][1])
    params = tiles.whole(layer.params_bytes * most_variants(facts.grid))
    stays = manner.mode == "offload" and facts.tiles == 1 and not any(stream.is_result for stream in streams)
    needed = prefetched + params + later + scratch
    return TilingCandidate(facts, order, home, manner, computing, cycles, needed, prefetched + params, stays)


def _is_rare(facts: GridInfo, order: Order, name: str) -> bool:
    """Whether an operand stays for more than one tile."""
    return any(part.name == name and period > 1 for part, period in zip(facts.parts, order.periods, strict=True))


def _bufferings(mode: str, tiles: int, home: Homes, limits: Limits) -> list[bool]:
    # Cores with tiles of their own wait for L3 at different times: one buffer each keeps the uDMA busy. With two, they
    # would hold more groups of transfers than there are.
    if tiles == 1 or (home.spilled and mode == "per_core"):
        return [False]
    return {"single": [False], "double": [True]}.get(limits.buffering, [False, True])


def _held(layer: Layer, streams: Sequence[Stream]) -> list[str]:
    """The operands of which one buffer may be enough, and none of them."""
    return [
        "",
        *(
            s.part.name
            for s in streams
            if s.part.name in layer.kernel.single_buffered and s.part.moves and not s.spilled
        ),
    ]


def _manner(layer: Layer, grid: TileGrid, double: bool, limits: Limits) -> ExecMode:
    mode = _mode(layer.kernel)
    return ExecMode(layer.kernel, mode, double, min(limits.cores, grid.tiles) if mode == "per_core" else 1)


def _mode(kernel: Kernel) -> str:
    return "offload" if kernel.offloaded else "cooperative" if kernel.cooperative else "per_core"


def _scratches(manner: ExecMode) -> int:
    """Working memories: what an accelerator reads and cores finish must not be written over by the next tile."""
    return 2 if manner.kernel.offloaded and manner.double else manner.workers


def _is_streamed(layer: Layer, part: OperandTile, home: Homes) -> bool:
    return part.name not in layer.kernel.resident and not (layer.owners[part.name] in home.inside and part.contiguous)


def _streams(layer: Layer, parts: Sequence[OperandTile], home: Homes) -> list[Stream]:
    return [
        Stream(
            position,
            part,
            part.name in layer.result_set,
            part.name in layer.ready,
            layer.owners[part.name] in home.spilled,
        )
        for position, part in enumerate(parts)
        if _is_streamed(layer, part, home)
    ]


def _buffers(is_ready: bool, part: OperandTile, manner: ExecMode) -> int:
    # What is ready and all tiles share is fetched once for all cores.
    own = manner.workers if part.moves or not is_ready else 1
    return 2 * own if manner.double and part.moves and part.name != manner.held else own


def _streamed_bytes(streams: Sequence[Stream], manner: ExecMode, tiles: Memory) -> tuple[int, int]:
    """Bytes of buffers that may be prefetched, before the layer's turn, and of the others."""
    prefetched = later = 0
    for _, part, _, is_ready, _ in streams:
        size = tiles.whole(part.bytes) * _buffers(is_ready, part, manner)
        prefetched, later = (prefetched + size, later) if is_ready else (prefetched, later + size)
    return prefetched, later


def most_variants(grid: TileGrid) -> int:
    """Nearly always at most: parameters differ in the first, the last and the tiles between, along each cut."""
    return math.prod(min(cut.count, 3) for cut in grid.cuts)


def materialise(layer: Layer, sketch: TilingCandidate, params: int, scratch: int, memories: Paths) -> TilingOption:
    facts, home, manner, kernel = sketch.facts, sketch.home, sketch.manner, layer.kernel
    grid = facts.grid.in_tiles(sketch.order.cuts)
    pairs = zip(facts.parts, sketch.order.periods, strict=True)
    operands = tuple(_operand(layer, part, period, home, manner) for part, period in pairs)
    return TilingOption(
        layer.node, kernel, layer.engine, grid, manner.mode, manner.double, operands, layer.owners, home.inside,
        home.spilled, memories.tiles.whole(scratch) * _scratches(manner), params, sketch.kernel_cycles, sketch.cycles,
        memories, sum(layer.types[name].bytes for name in kernel.resident), facts.timeline.engine,
        facts.timeline.fills_queue, facts.cold,
    )  # fmt: skip


def _operand(layer: Layer, part: OperandTile, period: int, home: Homes, manner: ExecMode) -> Operand:
    name, streamed, spilled = part.name, _is_streamed(layer, part, home), layer.owners[part.name] in home.spilled
    is_ready = name in layer.ready
    return Operand(
        name, part.tensor, name in layer.result_set, name in layer.constants, is_ready, streamed,
        part.bytes if streamed else 0, _buffers(is_ready, part, manner), period, spilled,
    )  # fmt: skip

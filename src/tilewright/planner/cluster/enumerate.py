"""The tiling options of one layer on a cluster: how it is cut, buffered and fed, its bytes and its cycles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ops.identity import Identity
from tilewright.planner.cluster.layer_cycles import Facts, Manner, Order, Part, Parts, Stream, facts_of, predicted
from tilewright.planner.cluster.tile_params import kinds, most_scratch
from tilewright.planner.cluster.tiling_option import (
    Layer,
    Limits,
    Operand,
    TilingOption,
)
from tilewright.target.cost_model import kernel_cycles, work
from tilewright.target.kernel import Kernel, no_objection
from tilewright.target.mapping import Choice
from tilewright.target.memory import Hierarchy, Memory
from tilewright.tiling.dma_shapes import apart, cost
from tilewright.tiling.tiles import Cut, Inside, TileGrid

PARTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Into how many parts a loop may be cut."""

MOST_CUTS = 3
"""Loops that are cut at once; a third one only where two do not give tiles that fit."""

ENOUGH = 40
"""Grids whose tiles fit L1, after which no more loops are cut."""

MOST_COMBINED = 3
"""Activations of a layer of which every choice of homes is considered."""

MOST_OPTIONS = 10
"""Options that are kept for one layer and one choice of homes."""


def layer_of(
    graph: Graph, node: Node, choice: Choice, owners: Mapping[str, str], movable: frozenset[str], params_bytes: int,
    inside: Mapping[str, Inside], spillable: frozenset[str],
) -> Layer:  # fmt: skip
    """`node` is of the graph, or what an engine offers for one of it."""
    tensors = {**node.operands(), **node.results()}
    owned = {name: owners[tensor] for name, tensor in tensors.items()}
    constants = frozenset(name for name, tensor in tensors.items() if owners[tensor] in graph.constants)
    brought = frozenset(name for name, tensor in tensors.items() if owners[tensor] in graph.inputs)
    return Layer(
        node, choice.kernel, choice.engine.name, graph.all_types(node), owned, movable & set(owned.values()),
        constants, constants | brought, params_bytes,
        {name: inside[tensor] for name, tensor in tensors.items() if tensor in inside}, spillable & set(owned.values()),
    )  # fmt: skip


def options(layer: Layer, limits: Limits) -> list[TilingOption]:
    """The options worth considering: none is both larger and slower than another with the same homes."""
    homes = _homes(layer)
    found: dict[_Homes, list[TilingOption | _Sketch]] = {home: [] for home in homes}
    for home, one in _considered(layer, homes, limits):
        found[home].append(one)
    settle = _Settling(layer, limits)
    return [option for group in found.values() for option in _best(group, settle)]


def has_options(layer: Layer, limits: Limits) -> bool:
    """Whether the layer can be run at all."""
    settle = _Settling(layer, limits)
    return any(settle(one) for _, one in _considered(layer, _homes(layer), limits))


def _considered(
    layer: Layer, homes: Sequence[_Homes], limits: Limits
) -> Iterator[tuple[_Homes, TilingOption | _Sketch]]:
    whole = TileGrid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    # Kernels see their operands whole and dense where they lie, which cores must reach.
    if not layer.kernel.offloaded and all(whole.is_contiguous(name) for name in layer.inside):
        yield from ((home, _in_l2(layer, home.l1, limits)) for home in homes if not home.l3)
        if _is_in_place(layer):
            return
    for home in homes:
        if _can_be_copied_by_dma(layer, home, limits):
            yield home, _dma_copy(layer, home.l1, limits)
    yield from ((sketch.home, sketch) for sketch in _all_sketches(layer, homes, limits))


class _Settling:
    """From sketches to options, with the parameter structs and working memory that their tiles really need, if L1 holds
    them."""

    def __init__(self, layer: Layer, limits: Limits) -> None:
        self.layer, self.limits = layer, limits
        self.known: dict[tuple[Cut, ...], tuple[int, int]] = {}

    def __call__(self, sketch: TilingOption | _Sketch) -> TilingOption | None:
        if isinstance(sketch, TilingOption):
            return sketch
        structs, scratch = self.needs(sketch.facts.grid)
        if not structs:
            return None
        exact = _option(self.layer, sketch, self.layer.params_bytes * structs, scratch, self.limits.memories)
        return exact if exact.bytes <= self.limits.l1_bytes else None

    def needs(self, grid: TileGrid) -> tuple[int, int]:
        """Parameter structs, and bytes of working memory; none where the kernel does not take the tiles."""
        kernel = self.layer.kernel
        if grid.cuts not in self.known:
            taken = _takes_tiles(kernel, grid)
            self.known[grid.cuts] = (kinds(kernel, grid), most_scratch(kernel, grid)) if taken else (0, 0)
        return self.known[grid.cuts]


def _takes_tiles(kernel: Kernel, grid: TileGrid) -> bool:
    """Whether a kernel takes the tiles at the corners of a grid as it takes the whole."""
    if kernel.objection is no_objection or not grid.cuts:
        return True
    corners = itertools.product(*((0, cut.count - 1) for cut in grid.cuts))
    loops = [cut.loop for cut in grid.cuts]
    tiles = (dict(zip(loops, corner, strict=True)) for corner in corners)
    return all(kernel.objection(grid.local_op(tile), grid.local_types(tile)) is None for tile in tiles)


def fits(layer: Layer, limits: Limits) -> bool:
    """Whether L1 holds the smallest tiles that the layer can be cut into."""
    whole = TileGrid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    if not all(kind.elements for kind in layer.types.values()):
        return True
    sizes = {loop: _sizes(layer, loop, extent) for loop, extent in _splittable(layer, whole).items()}
    cuts = tuple(Cut(loop, whole.extents[loop], lengths[-1]) for loop, lengths in sizes.items() if lengths)
    grid = whole.in_tiles(cuts)
    if grid.axes is None:
        return any(option.mode != "in_l2" for option in options(layer, limits))
    parts = Parts(layer).of(grid)
    facts, manner = facts_of(layer, grid, parts, limits), _manner(layer, grid, False, limits)
    sketch = _sketch(layer, facts, IN_L2, _streams(layer, parts, IN_L2), manner, limits)
    return sketch is not None and sketch.bytes <= limits.l1_bytes


def best(found: Sequence[TilingOption]) -> list[TilingOption]:
    """The options worth considering among those of several kernels."""
    groups: dict[object, list[TilingOption]] = {}
    for option in found:
        groups.setdefault((option.l1, option.l3, option.weights), []).append(option)
    return [option for group in groups.values() for option in _best(group, lambda option: option)]


# ---- grids ----------------------------------------------------------------------------------------------------------


def grids(layer: Layer, count: int) -> Iterator[TileGrid]:
    """The layer cut along `count` of its loops, whichever of them is the outer one."""
    whole = TileGrid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    if not all(kind.elements for kind in layer.types.values()):
        return
    sizes = {loop: _sizes(layer, loop, extent) for loop, extent in _splittable(layer, whole).items()}
    for loops in itertools.combinations(sizes, count):
        for combination in itertools.product(*(sizes[loop] for loop in loops)):
            cuts = tuple(Cut(loop, whole.extents[loop], size) for loop, size in zip(loops, combination, strict=True))
            grid = whole.in_tiles(cuts)
            if grid.axes is not None:
                yield grid


def _splittable(layer: Layer, whole: TileGrid) -> dict[str, int]:
    op, shapes = layer.node.op, whole.shapes
    if type(op).footprint is not Op.footprint:
        return {}
    try:
        fixed = op.unsplittable(shapes) | op.reductions(shapes) | layer.kernel.whole
        return {loop: extent for loop, extent in whole.extents.items() if loop not in fixed and extent > 1}
    except NotImplementedError:
        return {}


def _sizes(layer: Layer, loop: str, extent: int) -> list[int]:
    """Tile sizes along a loop, largest first, without the whole."""
    multiple = layer.kernel.multiples.get(loop, 1)
    sizes = {-(-extent // (parts * multiple)) * multiple for parts in (*PARTS, extent) if parts <= extent}
    least = layer.kernel.least.get(loop, 1)
    return sorted((size for size in sizes if size < extent and (extent % size or size) >= least), reverse=True)


# ---- options --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Homes:
    """Where a layer's activations live; those in neither are in L2."""

    l1: frozenset[str] = frozenset()
    l3: frozenset[str] = frozenset()


IN_L2 = _Homes()


def _homes(layer: Layer) -> list[_Homes]:
    found = []
    for l1 in _choices(layer.movable):
        l3_constants = layer.spillable - l1
        singles = [frozenset({owner}) for owner in sorted(l3_constants)] if len(l3_constants) > MOST_COMBINED else []
        found += [_Homes(l1, l3) for l3 in (*_choices(l3_constants), *singles)]
    return found


def _choices(owners: frozenset[str]) -> list[frozenset[str]]:
    """Every choice of a few, or all or none of many."""
    if len(owners) > MOST_COMBINED:
        return [frozenset(), owners]
    ordered = sorted(owners)
    return [frozenset(c) for count in range(len(ordered) + 1) for c in itertools.combinations(ordered, count)]


def _bufferings(mode: str, tiles: int, home: _Homes, limits: Limits) -> list[bool]:
    # Cores with tiles of their own wait for L3 at different times: one buffer each keeps the uDMA busy. With two, they
    # would hold more groups of transfers than there are.
    if tiles == 1 or (home.l3 and mode == "per_core"):
        return [False]
    return {"single": [False], "double": [True]}.get(limits.buffering, [False, True])


def _all_sketches(layer: Layer, homes: Sequence[_Homes], limits: Limits) -> Iterator[_Sketch]:
    """With more cuts only where fewer leave cores without a tile, or little to choose from."""
    wanted = limits.cores if _mode(layer.kernel) == "per_core" else 1
    for count in range(MOST_CUTS + 1):
        fitting, tiles = 0, 1
        for sketch in _sketches(layer, count, homes, limits):
            fitting += math.factorial(count)
            tiles = max(tiles, sketch.facts.tiles)
            yield sketch
        if count > 0 and fitting >= ENOUGH and tiles >= wanted:
            break


@dataclass(frozen=True, slots=True)
class _Sketch:
    """An option before it is written out: what it takes, and what it was made from."""

    facts: Facts
    order: Order
    home: _Homes
    manner: Manner
    kernel_cycles: float
    cycles: float
    bytes: int
    prefetch_bytes: int
    can_stay_in_flight: bool


def _sketches(layer: Layer, count: int, homes: Sequence[_Homes], limits: Limits) -> Iterator[_Sketch]:
    """Of every grid with so many cuts and of every choice of homes, those that fit L1 but for parameter structs: how
    many there are of these is known only when it is settled."""
    closest, known = _Homes(layer.movable), Parts(layer)
    for grid in grids(layer, count):
        parts = known.of(grid)
        single = _manner(layer, grid, False, limits)
        if sum(_streamed_bytes(_streams(layer, parts, closest), single, limits.memories.l1)) > limits.l1_bytes:
            continue
        facts = facts_of(layer, grid, parts, limits)
        for home in homes:
            streams = _streams(layer, parts, home)
            for double in _bufferings(single.mode, facts.tiles, home, limits):
                for held in _held(layer, streams) if double else [""]:
                    manner = single._replace(double=double, held=held)
                    sketch = _sketch(layer, facts, home, streams, manner, limits)
                    if sketch is not None:
                        yield sketch


def _held(layer: Layer, streams: Sequence[Stream]) -> list[str]:
    """The operands of which one buffer may be enough, and none of them."""
    return ["", *(s.part.name for s in streams if s.part.name in layer.kernel.held and s.part.moves and not s.l3)]


def _sketch(
    layer: Layer, facts: Facts, home: _Homes, streams: Sequence[Stream], manner: Manner, limits: Limits
) -> _Sketch | None:
    """With the order of loops that is fastest; None where it does not fit L1."""
    l1 = limits.memories.l1
    scratch = l1.whole(facts.scratch) * _scratches(manner)
    prefetched, later = _streamed_bytes(streams, manner, l1)
    if prefetched + later + scratch > limits.l1_bytes:
        return None
    orders = [order for order in facts.orders if not manner.held or _is_rare(facts, order, manner.held)]
    found = [(predicted(facts, streams, order.periods, manner, limits), order) for order in orders]
    if not found:
        return None
    (computing, cycles), order = min(found, key=lambda one: one[0][1])
    params = l1.whole(layer.params_bytes * _variants(facts.grid))
    stays = manner.mode == "offload" and facts.tiles == 1 and not any(stream.is_result for stream in streams)
    needed = prefetched + params + later + scratch
    return _Sketch(facts, order, home, manner, computing, cycles, needed, prefetched + params, stays)


def _is_rare(facts: Facts, order: Order, name: str) -> bool:
    """Whether an operand stays for more than one tile."""
    return any(part.name == name and period > 1 for part, period in zip(facts.parts, order.periods, strict=True))


def _option(layer: Layer, sketch: _Sketch, params: int, scratch: int, memories: Hierarchy) -> TilingOption:
    facts, home, manner, kernel = sketch.facts, sketch.home, sketch.manner, layer.kernel
    grid = facts.grid.in_tiles(sketch.order.cuts)
    pairs = zip(facts.parts, sketch.order.periods, strict=True)
    operands = tuple(_operand(layer, part, period, home, manner) for part, period in pairs)
    return TilingOption(
        layer.node, kernel, layer.engine, grid, manner.mode, manner.double, operands, layer.owners, home.l1, home.l3,
        memories.l1.whole(scratch) * _scratches(manner), params, sketch.kernel_cycles, sketch.cycles, memories,
        sum(layer.types[name].bytes for name in kernel.resident), facts.timeline.engine, facts.timeline.fills_queue,
        facts.cold,
    )  # fmt: skip


def _manner(layer: Layer, grid: TileGrid, double: bool, limits: Limits) -> Manner:
    mode = _mode(layer.kernel)
    return Manner(layer.kernel, mode, double, min(limits.cores, grid.tiles) if mode == "per_core" else 1)


def _mode(kernel: Kernel) -> str:
    return "offload" if kernel.offloaded else "cooperative" if kernel.cooperative else "per_core"


def _scratches(manner: Manner) -> int:
    """Working memories: what an accelerator reads and cores finish must not be written over by the next tile."""
    return 2 if manner.kernel.offloaded and manner.double else manner.workers


def _is_streamed(layer: Layer, part: Part, home: _Homes) -> bool:
    return part.name not in layer.kernel.resident and not (layer.owners[part.name] in home.l1 and part.contiguous)


def _streams(layer: Layer, parts: Sequence[Part], home: _Homes) -> list[Stream]:
    return [
        Stream(
            position, part, part.name in layer.result_set, part.name in layer.ready, layer.owners[part.name] in home.l3
        )
        for position, part in enumerate(parts)
        if _is_streamed(layer, part, home)
    ]


def _buffers(is_ready: bool, part: Part, manner: Manner) -> int:
    # What is ready and all tiles share is fetched once for all cores.
    own = manner.workers if part.moves or not is_ready else 1
    return 2 * own if manner.double and part.moves and part.name != manner.held else own


def _streamed_bytes(streams: Sequence[Stream], manner: Manner, l1: Memory) -> tuple[int, int]:
    """Bytes of buffers that may be prefetched, before the layer's turn, and of the others."""
    prefetched = later = 0
    for _, part, _, is_ready, _ in streams:
        size = l1.whole(part.bytes) * _buffers(is_ready, part, manner)
        prefetched, later = (prefetched + size, later) if is_ready else (prefetched, later + size)
    return prefetched, later


def _operand(layer: Layer, part: Part, period: int, home: _Homes, manner: Manner) -> Operand:
    name, streamed, in_l3 = part.name, _is_streamed(layer, part, home), layer.owners[part.name] in home.l3
    is_ready = name in layer.ready
    return Operand(
        name, part.tensor, name in layer.result_set, name in layer.constants, is_ready, streamed,
        part.bytes if streamed else 0, _buffers(is_ready, part, manner), period, in_l3,
    )  # fmt: skip


def _variants(grid: TileGrid) -> int:
    """Nearly always at most: parameters differ in the first, the last and the tiles between, along each cut."""
    return math.prod(min(cut.count, 3) for cut in grid.cuts)


def _is_in_place(layer: Layer) -> bool:
    """Whether most of the result is there already: moving it all to L1 and back would be for nothing."""
    replaced = layer.node.op.overwrites
    return bool(replaced) and layer.owners[replaced] == layer.owners[layer.results[0]]


def _in_l2(layer: Layer, l1: frozenset[str], limits: Limits) -> TilingOption:
    """Cores work where the tensors lie: always possible, and slow."""
    grid = TileGrid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    operands = tuple(
        Operand(name, tensor, name in layer.results, name in layer.constants, name in layer.ready, False, 0, 0, 0)
        for name, tensor in {**layer.node.operands(), **layer.node.results()}.items()
    )
    scratch = layer.kernel.scratch(layer.node.op, layer.types)
    alone = kernel_cycles(limits.costs, layer.kernel, layer.node.op, layer.types, work(grid, {}), limits.cores)
    cycles = alone if _is_in_place(layer) else alone * limits.memories.l2.slowdown
    return TilingOption(
        layer.node, layer.kernel, layer.engine, grid, "in_l2", False, operands, layer.owners, l1, frozenset(),
        scratch, 0, cycles, cycles, limits.memories,
    )  # fmt: skip


def _can_be_copied_by_dma(layer: Layer, home: _Homes, limits: Limits) -> bool:
    """Whether a layer only copies, between L1 and another memory, in one transfer."""
    if not isinstance(layer.node.op, Identity) or not all(kind.elements for kind in layer.types.values()):
        return False
    if home.l3 or max(kind.bytes for kind in layer.types.values()) > limits.memories.dma.longest:
        return False
    if len({layer.owners[name] in home.l1 for name in layer.types}) == 1:
        return False
    # Rows that lie apart come from outside to where they lie side by side.
    is_dense = {
        name: TileGrid(layer.node.op, layer.types, layer.results, inside=layer.inside).is_contiguous(name)
        for name in "XY"
    }
    return is_dense["X"] or (is_dense["Y"] and layer.owners["Y"] in home.l1)


def _dma_copy(layer: Layer, l1: frozenset[str], limits: Limits) -> TilingOption:
    """The copy as a transfer. Of rows that are not contiguous in L1 each is a command."""
    grid = TileGrid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    operands = tuple(
        Operand(name, tensor, name in layer.results, name in layer.constants, name in layer.ready, False, 0, 0, 0)
        for name, tensor in {**layer.node.operands(), **layer.node.results()}.items()
    )
    commands, runs, _ = cost(grid, apart(grid))
    together = limits.memories.dma.strided and not (apart(grid) == "Y" and layer.owners["Y"] in l1)
    given = commands if together else runs
    cycles = limits.costs.tile + max(0, given - UNSEEN_COMMANDS) * limits.memories.dma.command * limits.costs.slower
    return TilingOption(
        layer.node, layer.kernel, layer.engine, grid, "dma_copy", False, operands, layer.owners, l1, frozenset(), 0, 0,
        0.0, cycles, limits.memories,
    )  # fmt: skip


class _Measured(Protocol):
    """What is known of an option, and of a sketch of one."""

    @property
    def cycles(self) -> float: ...
    @property
    def bytes(self) -> int: ...
    @property
    def prefetch_bytes(self) -> int: ...
    @property
    def can_stay_in_flight(self) -> bool: ...


Found = TypeVar("Found", bound=_Measured)


def _best(group: Sequence[Found], settled: Callable[[Found], TilingOption | None]) -> list[TilingOption]:
    """Without those that are neither smaller nor faster than another. Only those are settled, which takes time."""
    kept: list[TilingOption] = []
    for option in sorted(group, key=lambda option: (option.cycles, option.bytes)):
        better = [other for other in kept if other.can_stay_in_flight or not option.can_stay_in_flight]
        if all(option.bytes < other.bytes or option.prefetch_bytes < other.prefetch_bytes for other in better) and (
            exact := settled(option)
        ):
            kept.append(exact)
    if len(kept) <= MOST_OPTIONS:
        return kept
    return [kept[i * (len(kept) - 1) // (MOST_OPTIONS - 1)] for i in range(MOST_OPTIONS)]


UNSEEN_COMMANDS = 32
"""That are given while cores are in other layers, roughly."""

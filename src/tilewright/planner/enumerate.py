"""Ways to run one layer on a cluster: how it is cut, buffered and fed, the bytes that takes and the cycles it costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ops.identity import Identity
from tilewright.planner.layer_cycles import Facts, Part, facts_of, timed
from tilewright.planner.options import (
    Layer,
    Limits,
    Operand,
    TilingOption,
    _room,
    _rounded,
)
from tilewright.planner.tile_params import kinds, most_scratch
from tilewright.target.cost_model import kernel_cycles, work
from tilewright.target.kernel import Kernel, no_objection
from tilewright.target.mapping import Choice
from tilewright.tiling.dma_shapes import cost
from tilewright.tiling.tiles import Cut, Inside, TileGrid

PARTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Into how many parts a loop may be cut."""

MOST_CUTS = 3
"""Loops that are cut at once; a third one only where two do not give tiles that fit."""

ENOUGH = 40
"""Grids whose tiles fit the near memory, after which no more loops are cut."""

MOST_COMBINED = 3
"""Activations of a layer of which every choice of homes is considered."""

MOST_OPTIONS = 10
"""Ways that are kept for one layer and one choice of homes."""


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
    """The ways worth considering: none is both larger and slower than another with the same homes."""
    homes = _homes(layer)
    whole = TileGrid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    # Kernels see their operands whole and dense where they lie, which cores must reach.
    dense = not layer.kernel.offloaded and all(whole.is_contiguous(name) for name in layer.inside)
    found = {home: [_in_l2(layer, home.l1, limits)] * (dense and not home.l3) for home in homes}
    for home in homes:
        if _can_be_copied_by_dma(layer, home, limits):
            found[home].append(_dma_copy(layer, home.l1, limits))
    for count in range(MOST_CUTS + 1):
        fitting = 0
        for grid in grids(layer, count):
            facts = facts_of(layer, grid, limits)
            for home in homes:
                for double in _bufferings(layer, grid, home, limits):
                    option = _option(layer, facts, home, double, limits)
                    # How many parameter structs there are is known only when it is settled.
                    if option.bytes - _room(option.params) <= limits.l1_bytes:
                        found[home].append(option)
                        fitting += 1
        if count > 0 and fitting >= ENOUGH:
            break
    known: dict[tuple[Cut, ...], tuple[int, int]] = {}
    return [
        option for group in found.values() for option in _best(group, lambda option: _settled(option, known, limits))
    ]


def _settled(
    option: TilingOption, known: dict[tuple[Cut, ...], tuple[int, int]], limits: Limits
) -> TilingOption | None:
    """A way with the parameter structs and working memory that its tiles really need, if there is room for them."""
    if option.mode in ("in_l2", "dma_copy"):
        return option
    cuts = option.grid.cuts
    if cuts not in known:
        taken = _takes_tiles(option.kernel, option.grid)
        known[cuts] = (kinds(option.kernel, option.grid), most_scratch(option.kernel, option.grid)) if taken else (0, 0)
    structs, scratch = known[cuts]
    if not structs:
        return None
    workers = min(limits.cores, option.grid.tiles) if option.mode == "per_core" else 1
    params = option.params // _variants(option.grid) * structs
    exact = replace(option, params=params, scratch=_room(scratch) * _scratches(option.kernel, option.double, workers))
    return exact if exact.bytes <= limits.l1_bytes else None


def _takes_tiles(kernel: Kernel, grid: TileGrid) -> bool:
    """Whether a kernel takes the tiles at the corners of a grid as it takes the whole."""
    if kernel.objection is no_objection or not grid.cuts:
        return True
    corners = itertools.product(*((0, cut.count - 1) for cut in grid.cuts))
    loops = [cut.loop for cut in grid.cuts]
    tiles = (dict(zip(loops, corner, strict=True)) for corner in corners)
    return all(kernel.objection(grid.local_op(tile), grid.local_types(tile)) is None for tile in tiles)


def fits(layer: Layer, limits: Limits) -> bool:
    """Whether the near memory has room for the smallest tiles that the layer can be cut into."""
    whole = TileGrid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    if not all(kind.elements for kind in layer.types.values()):
        return True
    sizes = {loop: _sizes(layer, loop, extent) for loop, extent in _splittable(layer, whole).items()}
    cuts = tuple(Cut(loop, whole.extents[loop], lengths[-1]) for loop, lengths in sizes.items() if lengths)
    grid = replace(whole, cuts=cuts)
    if grid.axes is None:
        return any(option.mode != "in_l2" for option in options(layer, limits))
    return _option(layer, facts_of(layer, grid, limits), IN_L2, False, limits).bytes <= limits.l1_bytes


def best(found: Sequence[TilingOption]) -> list[TilingOption]:
    """The ways worth considering among those of several kernels."""
    groups: dict[object, list[TilingOption]] = {}
    for option in found:
        groups.setdefault((option.l1, option.l3, option.weights), []).append(option)
    return [option for group in groups.values() for option in _best(group, lambda option: option)]


# ---- grids ----------------------------------------------------------------------------------------------------------


def grids(layer: Layer, count: int) -> Iterator[TileGrid]:
    """The layer cut along `count` of its loops."""
    whole = TileGrid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    if not all(kind.elements for kind in layer.types.values()):
        return
    sizes = {loop: _sizes(layer, loop, extent) for loop, extent in _splittable(layer, whole).items()}
    for loops in itertools.permutations(sizes, count):
        for combination in itertools.product(*(sizes[loop] for loop in loops)):
            cuts = tuple(Cut(loop, whole.extents[loop], size) for loop, size in zip(loops, combination, strict=True))
            grid = replace(whole, cuts=cuts)
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
    sizes = {_rounded(-(-extent // parts), multiple) for parts in (*PARTS, extent) if parts <= extent}
    least = layer.kernel.least.get(loop, 1)
    return sorted((size for size in sizes if size < extent and (extent % size or size) >= least), reverse=True)


# ---- ways -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Homes:
    """Where a layer's activations live; those in neither are far."""

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


def _bufferings(layer: Layer, grid: TileGrid, home: _Homes, limits: Limits) -> list[bool]:
    # Cores apart wait for the store at different times: one buffer each keeps its engine busy. With two, they would
    # hold more groups of transfers than there are.
    if grid.tiles == 1 or (home.l3 and _mode(layer.kernel) == "per_core"):
        return [False]
    return {"single": [False], "double": [True]}.get(limits.buffering, [False, True])


def _option(layer: Layer, facts: Facts, home: _Homes, double: bool, limits: Limits) -> TilingOption:
    grid, kernel = facts.grid, layer.kernel
    mode = _mode(kernel)
    workers = min(limits.cores, grid.tiles) if mode == "per_core" else 1
    operands = tuple(_operand(layer, part, home, double, workers) for part in facts.parts)
    scratch = _room(facts.scratch) * _scratches(kernel, double, workers)
    option = TilingOption(
        layer.node, kernel, layer.engine, grid, mode, double, operands, layer.owners, home.l1, home.l3,
        scratch, layer.params_bytes * _variants(grid), 0.0, 0.0,
        sum(layer.types[name].bytes for name in kernel.resident),
    )  # fmt: skip
    return timed(option, facts, workers, limits)


def _mode(kernel: Kernel) -> str:
    return "offload" if kernel.offloaded else "cooperative" if kernel.cooperative else "per_core"


def _scratches(kernel: Kernel, double: bool, workers: int) -> int:
    """Working memories: what an accelerator reads and cores finish must not be written over by the next tile."""
    return 2 if kernel.offloaded and double else workers


def _operand(layer: Layer, part: Part, home: _Homes, double: bool, workers: int) -> Operand:
    at_hand = part.name in layer.kernel.resident or (layer.owners[part.name] in home.l1 and part.contiguous)
    streamed = not at_hand
    ready = part.name in layer.ready
    # What is ready and all tiles share is fetched once for all cores.
    own = workers if part.period or not ready else 1
    copies = 2 if double and part.period else 1
    return Operand(
        part.name, part.tensor, part.name in layer.results, part.name in layer.constants, ready, streamed,
        part.bytes if streamed else 0, copies * own, part.period, layer.owners[part.name] in home.l3,
    )  # fmt: skip


def _variants(grid: TileGrid) -> int:
    """Nearly always at most: parameters differ in the first, the last and the tiles between, along each cut."""
    return math.prod(min(cut.count, 3) for cut in grid.cuts)


def _in_l2(layer: Layer, l1: frozenset[str], limits: Limits) -> TilingOption:
    """Cores work where the tensors lie: always possible, and slow."""
    grid = TileGrid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    operands = tuple(
        Operand(name, tensor, name in layer.results, name in layer.constants, name in layer.ready, False, 0, 0, 0)
        for name, tensor in {**layer.node.operands(), **layer.node.results()}.items()
    )
    scratch = layer.kernel.scratch(layer.node.op, layer.types)
    alone = kernel_cycles(limits.costs, layer.kernel, layer.node.op, layer.types, work(grid, {}), limits.cores)
    cycles = alone * limits.memories.l2.slowdown
    return TilingOption(
        layer.node, layer.kernel, layer.engine, grid, "in_l2", False, operands, layer.owners, l1, frozenset(),
        scratch, 0, cycles, cycles,
    )  # fmt: skip


def _can_be_copied_by_dma(layer: Layer, home: _Homes, limits: Limits) -> bool:
    """Whether a layer only copies, between a near home and another that one transfer reaches."""
    if not isinstance(layer.node.op, Identity) or not all(kind.elements for kind in layer.types.values()):
        return False
    if home.l3 or max(kind.bytes for kind in layer.types.values()) > limits.memories.dma.longest:
        return False
    return len({layer.owners[name] in home.l1 for name in layer.types}) > 1


def _dma_copy(layer: Layer, l1: frozenset[str], limits: Limits) -> TilingOption:
    """The copy as a transfer. Of rows that lie apart in the near memory each is a command."""
    grid = TileGrid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    operands = tuple(
        Operand(name, tensor, name in layer.results, name in layer.constants, name in layer.ready, False, 0, 0, 0)
        for name, tensor in {**layer.node.operands(), **layer.node.results()}.items()
    )
    commands, runs, _ = cost(grid, layer.results[0])
    given = runs if layer.owners[layer.results[0]] in l1 else commands
    cycles = limits.costs.tile + max(0, given - UNSEEN_COMMANDS) * limits.memories.dma.command * limits.costs.slower
    return TilingOption(
        layer.node, layer.kernel, layer.engine, grid, "dma_copy", False, operands, layer.owners, l1, frozenset(), 0, 0,
        0.0, cycles,
    )  # fmt: skip


def _best(group: Sequence[TilingOption], settled: Callable[[TilingOption], TilingOption | None]) -> list[TilingOption]:
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

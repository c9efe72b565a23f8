"""Ways to run one layer on a cluster: how it is cut, buffered and fed, the bytes that takes and the cycles it costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tilewright.costs import kernel_cycles, work
from tilewright.grid import Cut, Grid, Inside
from tilewright.ir import Graph, Node
from tilewright.layer_times import Facts, Part, facts_of, timed
from tilewright.mapping import Choice
from tilewright.op import Op
from tilewright.ops.identity import Identity
from tilewright.target import Costs, Kernel, no_objection
from tilewright.transfers import cost
from tilewright.types import TensorType
from tilewright.variants import kinds, most_scratch

PARTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Into how many parts a loop may be cut."""

MOST_CUTS = 3
"""Loops that are cut at once; a third one only where two do not give tiles that fit."""

ENOUGH = 40
"""Grids whose tiles fit the near memory, after which no more loops are cut."""

MOST_COMBINED = 3
"""Activations of a layer of which every choice of homes is considered."""

MOST_WAYS = 10
"""Ways that are kept for one layer and one choice of homes."""


@dataclass(frozen=True)
class Operand:
    """An operand or result as the tiles of a layer see it."""

    name: str
    """In the operator."""
    tensor: str
    is_result: bool
    is_constant: bool
    is_ready: bool
    """There from the beginning: a constant, or what the caller brings. It may be fetched before the layer's turn."""
    streamed: bool
    """Copied by DMA between its home and a buffer; otherwise kernels use it where it lies."""
    bytes: int
    """Of one buffer."""
    buffers: int
    """How many of them, over all cores."""
    period: int
    """Tiles after which another part is needed; 0 if never."""
    deep: bool = False
    """It lives in the store: on the way, each part rests in a buffer of the far memory, as large as the near one."""


@dataclass(frozen=True)
class Way:
    """One way to run a layer."""

    node: Node
    kernel: Kernel
    engine: str
    grid: Grid
    mode: str
    """`together`: all cores work on one tile; `apart`: each core has tiles of its own; `offload`: an accelerator
    works; `moved`: one transfer between the homes is all that is to be done; `direct`: cores work where the tensors
    lie, and their working memory is far too."""
    double: bool
    operands: tuple[Operand, ...]
    owners: Mapping[str, str]
    """Operand and result names -> the tensor that owns the bytes."""
    near: frozenset[str]
    """Owners of activations that this way expects in the near memory; others are expected in the far one."""
    deep: frozenset[str]
    """But for these, which it expects in the store."""
    scratch: int
    """Bytes of working memory, over all cores."""
    params: int
    """Bytes of the parameter structs."""
    kernel_cycles: float
    cycles: float
    weights: int = 0
    """Bytes of constants that an accelerator reads from the weight memory."""
    engine_cycles: float = 0.0
    """Of an accelerator, while the cores could do something else."""
    fills_queue: bool = False
    """Whether its accelerator must have ended all that was handed over before, until a core can go on."""

    @cached_property
    def early(self) -> int:
        """Bytes that may be filled before the layer's turn: what is ready of the first tile, and parameters."""
        return sum(_room(o.bytes) * o.buffers for o in self.operands if o.is_ready and o.streamed) + _room(self.params)

    @cached_property
    def late(self) -> int:
        """Bytes that are needed only during the layer."""
        buffers = sum(_room(o.bytes) * o.buffers for o in self.operands if not o.is_ready and o.streamed)
        return buffers + (0 if self.mode == "direct" else _room(self.scratch))

    @property
    def bytes(self) -> int:
        return self.early + self.late

    @cached_property
    def before(self) -> int:
        """Bytes that are taken as soon as something of the layer is fetched: a near result that is moved there too."""
        if self.mode != "moved":
            return self.early
        return sum(_room(self.grid.types[name].bytes) for name in self.grid.results if self.owners[name] in self.near)

    @cached_property
    def fetching(self) -> float:
        """Cycles until what comes before its turn is there."""
        moved = cost(self.grid, self.grid.results[0]) if self.mode == "moved" else (0, 0, self.early)
        _, runs, size = moved
        return size / BYTES_PER_CYCLE + runs + TRANSFER_LATENCY

    @cached_property
    def bounces(self) -> dict[str, int]:
        """Bytes of the far memory for operands and results on their way from and to the store."""
        return {o.name: _room(o.bytes) * o.buffers for o in self.operands if o.deep}

    @cached_property
    def can_last(self) -> bool:
        """Whether an accelerator can be left with it as a whole: nothing is to be moved afterwards."""
        moved = any(operand.is_result and operand.streamed for operand in self.operands)
        return self.mode == "offload" and self.grid.tiles == 1 and not moved


@dataclass(frozen=True)
class Layer:
    """What is to be run, before it is decided how."""

    node: Node
    kernel: Kernel
    engine: str
    types: Mapping[str, TensorType]
    owners: Mapping[str, str]
    """Operand and result names -> the tensor that owns the bytes."""
    movable: frozenset[str]
    """Owners that may live in the near memory."""
    constants: frozenset[str]
    """Names of operands that are constants."""
    ready: frozenset[str]
    """Names of operands that no layer makes."""
    params_bytes: int
    inside: Mapping[str, Inside]
    """Operands and results that lie within larger tensors."""
    storable: frozenset[str] = frozenset()
    """Owners that may live in the store."""

    @property
    def results(self) -> tuple[str, ...]:
        return tuple(self.node.results())


@dataclass(frozen=True)
class Limits:
    cores: int
    near_bytes: int
    buffering: str
    costs: Costs


def layer_of(
    graph: Graph, node: Node, choice: Choice, owners: Mapping[str, str], movable: frozenset[str], params_bytes: int,
    inside: Mapping[str, Inside], storable: frozenset[str],
) -> Layer:  # fmt: skip
    """`node` is of the graph, or what an engine offers for one of it."""
    tensors = {**node.operands(), **node.results()}
    owned = {name: owners[tensor] for name, tensor in tensors.items()}
    constants = frozenset(name for name, tensor in tensors.items() if owners[tensor] in graph.constants)
    brought = frozenset(name for name, tensor in tensors.items() if owners[tensor] in graph.inputs)
    return Layer(
        node, choice.kernel, choice.engine.name, graph.all_types(node), owned, movable & set(owned.values()),
        constants, constants | brought, params_bytes,
        {name: inside[tensor] for name, tensor in tensors.items() if tensor in inside}, storable & set(owned.values()),
    )  # fmt: skip


def ways(layer: Layer, limits: Limits) -> list[Way]:
    """The ways worth considering: none is both larger and slower than another with the same homes."""
    homes = _homes(layer)
    whole = Grid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    # Kernels see their operands whole and dense where they lie, which cores must reach.
    dense = not layer.kernel.offloaded and all(whole.is_contiguous(name) for name in layer.inside)
    found = {home: [_direct(layer, home.near, limits)] * (dense and not home.deep) for home in homes}
    for home in homes:
        if _can_be_moved(layer, home):
            found[home].append(_moved(layer, home.near, limits))
    for count in range(MOST_CUTS + 1):
        fitting = 0
        for grid in grids(layer, count):
            facts = facts_of(layer, grid, limits)
            for home in homes:
                for double in _bufferings(layer, grid, home, limits):
                    way = _way(layer, facts, home, double, limits)
                    # How many parameter structs there are is known only when it is settled.
                    if way.bytes - _room(way.params) <= limits.near_bytes:
                        found[home].append(way)
                        fitting += 1
        if count > 0 and fitting >= ENOUGH:
            break
    known: dict[tuple[Cut, ...], tuple[int, int]] = {}
    return [way for group in found.values() for way in _best(group, lambda way: _settled(way, known, limits))]


def _settled(way: Way, known: dict[tuple[Cut, ...], tuple[int, int]], limits: Limits) -> Way | None:
    """A way with the parameter structs and working memory that its tiles really need, if there is room for them."""
    if way.mode in ("direct", "moved"):
        return way
    cuts = way.grid.cuts
    if cuts not in known:
        taken = _takes_tiles(way.kernel, way.grid)
        known[cuts] = (kinds(way.kernel, way.grid), most_scratch(way.kernel, way.grid)) if taken else (0, 0)
    structs, scratch = known[cuts]
    if not structs:
        return None
    workers = min(limits.cores, way.grid.tiles) if way.mode == "apart" else 1
    params = way.params // _variants(way.grid) * structs
    exact = replace(way, params=params, scratch=_room(scratch) * _scratches(way.kernel, way.double, workers))
    return exact if exact.bytes <= limits.near_bytes else None


def _takes_tiles(kernel: Kernel, grid: Grid) -> bool:
    """Whether a kernel takes the tiles at the corners of a grid as it takes the whole."""
    if kernel.objection is no_objection or not grid.cuts:
        return True
    corners = itertools.product(*((0, cut.count - 1) for cut in grid.cuts))
    loops = [cut.loop for cut in grid.cuts]
    tiles = (dict(zip(loops, corner, strict=True)) for corner in corners)
    return all(kernel.objection(grid.local_op(tile), grid.local_types(tile)) is None for tile in tiles)


def fits(layer: Layer, limits: Limits) -> bool:
    """Whether the near memory has room for the smallest tiles that the layer can be cut into."""
    whole = Grid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    if not all(kind.elements for kind in layer.types.values()):
        return True
    sizes = {loop: _sizes(layer, loop, extent) for loop, extent in _splittable(layer, whole).items()}
    cuts = tuple(Cut(loop, whole.extents[loop], options[-1]) for loop, options in sizes.items() if options)
    grid = replace(whole, cuts=cuts)
    if grid.axes is None:
        return any(way.mode != "direct" for way in ways(layer, limits))
    return _way(layer, facts_of(layer, grid, limits), FAR, False, limits).bytes <= limits.near_bytes


def best(found: Sequence[Way]) -> list[Way]:
    """The ways worth considering among those of several kernels."""
    groups: dict[object, list[Way]] = {}
    for way in found:
        groups.setdefault((way.near, way.deep, way.weights), []).append(way)
    return [way for group in groups.values() for way in _best(group, lambda way: way)]


# ---- grids ----------------------------------------------------------------------------------------------------------


def grids(layer: Layer, count: int) -> Iterator[Grid]:
    """The layer cut along `count` of its loops."""
    whole = Grid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    if not all(kind.elements for kind in layer.types.values()):
        return
    sizes = {loop: _sizes(layer, loop, extent) for loop, extent in _splittable(layer, whole).items()}
    for loops in itertools.permutations(sizes, count):
        for combination in itertools.product(*(sizes[loop] for loop in loops)):
            cuts = tuple(Cut(loop, whole.extents[loop], size) for loop, size in zip(loops, combination, strict=True))
            grid = replace(whole, cuts=cuts)
            if grid.axes is not None:
                yield grid


def _splittable(layer: Layer, whole: Grid) -> dict[str, int]:
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

    near: frozenset[str] = frozenset()
    deep: frozenset[str] = frozenset()


FAR = _Homes()


def _homes(layer: Layer) -> list[_Homes]:
    found = []
    for near in _choices(layer.movable):
        stored = layer.storable - near
        singles = [frozenset({owner}) for owner in sorted(stored)] if len(stored) > MOST_COMBINED else []
        found += [_Homes(near, deep) for deep in (*_choices(stored), *singles)]
    return found


def _choices(owners: frozenset[str]) -> list[frozenset[str]]:
    """Every choice of a few, or all or none of many."""
    if len(owners) > MOST_COMBINED:
        return [frozenset(), owners]
    ordered = sorted(owners)
    return [frozenset(c) for count in range(len(ordered) + 1) for c in itertools.combinations(ordered, count)]


def _bufferings(layer: Layer, grid: Grid, home: _Homes, limits: Limits) -> list[bool]:
    # Cores apart wait for the store at different times: one buffer each keeps its engine busy. With two, they would
    # hold more groups of transfers than there are.
    if grid.tiles == 1 or (home.deep and _mode(layer.kernel) == "apart"):
        return [False]
    return {"single": [False], "double": [True]}.get(limits.buffering, [False, True])


def _way(layer: Layer, facts: Facts, home: _Homes, double: bool, limits: Limits) -> Way:
    grid, kernel = facts.grid, layer.kernel
    mode = _mode(kernel)
    workers = min(limits.cores, grid.tiles) if mode == "apart" else 1
    operands = tuple(_operand(layer, part, home, double, workers) for part in facts.parts)
    scratch = _room(facts.scratch) * _scratches(kernel, double, workers)
    way = Way(
        layer.node, kernel, layer.engine, grid, mode, double, operands, layer.owners, home.near, home.deep,
        scratch, layer.params_bytes * _variants(grid), 0.0, 0.0,
        sum(layer.types[name].bytes for name in kernel.resident),
    )  # fmt: skip
    return timed(way, facts, workers, limits)


def _mode(kernel: Kernel) -> str:
    return "offload" if kernel.offloaded else "together" if kernel.cooperative else "apart"


def _scratches(kernel: Kernel, double: bool, workers: int) -> int:
    """Working memories: what an accelerator reads and cores finish must not be written over by the next tile."""
    return 2 if kernel.offloaded and double else workers


def _operand(layer: Layer, part: Part, home: _Homes, double: bool, workers: int) -> Operand:
    at_hand = part.name in layer.kernel.resident or (layer.owners[part.name] in home.near and part.contiguous)
    streamed = not at_hand
    ready = part.name in layer.ready
    # What is ready and all tiles share is fetched once for all cores.
    own = workers if part.period or not ready else 1
    copies = 2 if double and part.period else 1
    return Operand(
        part.name, part.tensor, part.name in layer.results, part.name in layer.constants, ready, streamed,
        part.bytes if streamed else 0, copies * own, part.period, layer.owners[part.name] in home.deep,
    )  # fmt: skip


def _variants(grid: Grid) -> int:
    """Nearly always at most: parameters differ in the first, the last and the tiles between, along each cut."""
    return math.prod(min(cut.count, 3) for cut in grid.cuts)


def _direct(layer: Layer, near: frozenset[str], limits: Limits) -> Way:
    """Cores work where the tensors lie: always possible, and slow."""
    grid = Grid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    operands = tuple(
        Operand(name, tensor, name in layer.results, name in layer.constants, name in layer.ready, False, 0, 0, 0)
        for name, tensor in {**layer.node.operands(), **layer.node.results()}.items()
    )
    scratch = layer.kernel.scratch(layer.node.op, layer.types)
    alone = kernel_cycles(limits.costs, layer.kernel, layer.node.op, layer.types, work(grid, {}), limits.cores)
    cycles = alone * limits.costs.slow_access
    return Way(
        layer.node, layer.kernel, layer.engine, grid, "direct", False, operands, layer.owners, near, frozenset(),
        scratch, 0, cycles, cycles,
    )  # fmt: skip


def _can_be_moved(layer: Layer, home: _Homes) -> bool:
    """Whether a layer only copies, between a near home and another that one transfer reaches."""
    if not isinstance(layer.node.op, Identity) or not all(kind.elements for kind in layer.types.values()):
        return False
    if home.deep or max(kind.bytes for kind in layer.types.values()) > LONGEST_TRANSFER:
        return False
    return len({layer.owners[name] in home.near for name in layer.types}) > 1


def _moved(layer: Layer, near: frozenset[str], limits: Limits) -> Way:
    """The copy as a transfer. Of rows that lie apart in the near memory each is a command."""
    grid = Grid(layer.node.op, layer.types, layer.results, inside=layer.inside)
    operands = tuple(
        Operand(name, tensor, name in layer.results, name in layer.constants, name in layer.ready, False, 0, 0, 0)
        for name, tensor in {**layer.node.operands(), **layer.node.results()}.items()
    )
    commands, runs, _ = cost(grid, layer.results[0])
    given = runs if layer.owners[layer.results[0]] in near else commands
    cycles = limits.costs.tile + max(0, given - UNSEEN_COMMANDS) * limits.costs.command
    return Way(
        layer.node, layer.kernel, layer.engine, grid, "moved", False, operands, layer.owners, near, frozenset(), 0, 0,
        0.0, cycles,
    )  # fmt: skip


def _best(group: Sequence[Way], settled: Callable[[Way], Way | None]) -> list[Way]:
    """Without those that are neither smaller nor faster than another. Only those are settled, which takes time."""
    kept: list[Way] = []
    for way in sorted(group, key=lambda way: (way.cycles, way.bytes)):
        better = [other for other in kept if other.can_last or not way.can_last]
        if all(way.bytes < other.bytes or way.early < other.early for other in better) and (exact := settled(way)):
            kept.append(exact)
    if len(kept) <= MOST_WAYS:
        return kept
    return [kept[i * (len(kept) - 1) // (MOST_WAYS - 1)] for i in range(MOST_WAYS)]


def _room(size: int) -> int:
    """A buffer's bytes in whole units of the alignment."""
    return _rounded(size, ALIGNMENT)


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


ALIGNMENT = 8

UNSEEN_COMMANDS = 32
"""That are given while cores are in other layers, roughly."""

LONGEST_TRANSFER = 2**17 - 1
"""Bytes of a single command."""

BYTES_PER_CYCLE = 8
TRANSFER_LATENCY = 20
"""Of what is fetched before it is needed, roughly."""

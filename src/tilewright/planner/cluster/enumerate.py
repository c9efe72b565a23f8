"""The tiling options of one layer on a cluster: how it is cut, buffered and fed, its bytes and its cycles."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from tilewright.ir.graph import Graph, Node
from tilewright.planner.cluster.grids import smallest_grid
from tilewright.planner.cluster.layer_homes import Homes, homes_of
from tilewright.planner.cluster.sketches import TilingCandidate, all_sketches, holds_tiles, materialise
from tilewright.planner.cluster.tile_params import kinds, most_scratch
from tilewright.planner.cluster.tiling_option import Layer, Limits, TilingOption
from tilewright.planner.cluster.untiled_options import at_home, can_be_copied_by_dma, dma_copy, is_in_place
from tilewright.target.kernel import Kernel, always_supported
from tilewright.target.mapping import Choice
from tilewright.tiling.tiles import Cut, Inside, TileGrid

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
    homes = homes_of(layer)
    found: dict[Homes, list[TilingOption | TilingCandidate]] = {home: [] for home in homes}
    for home, one in _considered(layer, homes, limits):
        found[home].append(one)
    settle = _Settling(layer, limits)
    return [option for group in found.values() for option in _best(group, settle)]


def has_options(layer: Layer, limits: Limits) -> bool:
    """Whether the layer can be run at all."""
    settle = _Settling(layer, limits)
    return any(settle(one) for _, one in _considered(layer, homes_of(layer), limits))


def _considered(
    layer: Layer, homes: Sequence[Homes], limits: Limits
) -> Iterator[tuple[Homes, TilingOption | TilingCandidate]]:
    whole = layer.whole
    # Kernels see their operands whole and dense where they lie, which cores must reach.
    if not layer.kernel.offloaded and all(whole.is_contiguous(name) for name in layer.inside):
        yield from ((home, at_home(layer, home.inside, limits)) for home in homes if not home.spilled)
        if is_in_place(layer):
            return
    for home in homes:
        if can_be_copied_by_dma(layer, home, limits):
            yield home, dma_copy(layer, home.inside, limits)
    yield from ((sketch.home, sketch) for sketch in all_sketches(layer, homes, limits))


class _Settling:
    """From sketches to options, with the parameter structs and working memory that their tiles really need, if L1 holds
    them."""

    def __init__(self, layer: Layer, limits: Limits) -> None:
        self.layer, self.limits = layer, limits
        self.known: dict[tuple[Cut, ...], tuple[int, int]] = {}

    def __call__(self, sketch: TilingOption | TilingCandidate) -> TilingOption | None:
        if isinstance(sketch, TilingOption):
            return sketch
        structs, scratch = self.needs(sketch.facts.grid)
        if not structs:
            return None
        exact = materialise(self.layer, sketch, self.layer.params_bytes * structs, scratch, self.limits.memories)
        return exact if exact.bytes <= self.limits.tile_bytes else None

    def needs(self, grid: TileGrid) -> tuple[int, int]:
        """Parameter structs, and bytes of working memory; none where the kernel does not take the tiles."""
        kernel = self.layer.kernel
        if grid.cuts not in self.known:
            taken = _takes_tiles(kernel, grid)
            self.known[grid.cuts] = (kinds(kernel, grid), most_scratch(kernel, grid)) if taken else (0, 0)
        return self.known[grid.cuts]


def _takes_tiles(kernel: Kernel, grid: TileGrid) -> bool:
    """Whether a kernel takes the tiles at the corners of a grid as it takes the whole."""
    if kernel.unsupported_reason is always_supported or not grid.cuts:
        return True
    corners = itertools.product(*((0, cut.count - 1) for cut in grid.cuts))
    loops = [cut.loop for cut in grid.cuts]
    tiles = (dict(zip(loops, corner, strict=True)) for corner in corners)
    return all(kernel.unsupported_reason(grid.local_op(tile), grid.local_types(tile)) is None for tile in tiles)


def fits(layer: Layer, limits: Limits) -> bool:
    """Whether L1 holds the smallest tiles that the layer can be cut into."""
    if not all(kind.elements for kind in layer.types.values()):
        return True
    grid = smallest_grid(layer)
    if grid.axes is None:
        return any(option.mode != "in_place" for option in options(layer, limits))
    return holds_tiles(layer, grid, limits)


def best(found: Sequence[TilingOption]) -> list[TilingOption]:
    """The options worth considering among those of several kernels."""
    groups: dict[object, list[TilingOption]] = {}
    for option in found:
        groups.setdefault((option.inside, option.spilled, option.weights), []).append(option)
    return [option for group in groups.values() for option in _best(group, lambda option: option)]


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

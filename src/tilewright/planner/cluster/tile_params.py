"""Parameter structs of a layer's tiles: tiles at the edges of the grid may need others than those inside."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache

from tilewright.errors import InternalError
from tilewright.ir.op import Op, Params
from tilewright.ir.types import TensorType
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.tiling.tiles import Cut, TileGrid


@dataclass(frozen=True)
class Selector:
    """Which of a loop's tiles have parameters of their own."""

    cut: Cut
    changes: tuple[int, ...]
    """The tiles that differ from the one before."""

    @property
    def representatives(self) -> list[int]:
        """An index for each distinct kind, in the order of the C array."""
        return [0, *self.changes]

    @property
    def text(self) -> str:
        """The position in the array, as C."""
        if len(self.changes) == self.cut.count - 1:
            return self.cut.loop
        last = self.cut.count - 1
        return " + ".join(f"({self.cut.loop} {f'== {at}' if at == last else f'>= {at}'})" for at in self.changes)

    def position(self, index: int) -> int:
        return bisect.bisect_right(self.changes, index)


@dataclass(frozen=True)
class Variants:
    selectors: tuple[Selector, ...]
    """One for each dimension of the array."""
    params: tuple[Params, ...]
    """The array, the last dimension fastest."""

    def of(self, tile: Mapping[str, int]) -> Params:
        """Those of a tile, by the indices of its loops."""
        at = 0
        for selector in self.selectors:
            at = at * len(selector.representatives) + selector.position(tile[selector.cut.loop])
        return self.params[at]


def variants(kernel: Kernel, grid: TileGrid) -> Variants:
    """The parameters of all tiles, each kind once."""
    base = _inside(grid)
    found = _selectors(kernel, grid, base)
    choices = itertools.product(*(selector.representatives for selector in found))
    result = Variants(
        found,
        tuple(
            _params(kernel, grid, base | {s.cut.loop: i for s, i in zip(found, choice, strict=True)})
            for choice in choices
        ),
    )
    _check(kernel, grid, result, base)
    return result


def kinds(kernel: Kernel, grid: TileGrid) -> int:
    """How many there are."""
    return math.prod(len(selector.representatives) for selector in _selectors(kernel, grid, _inside(grid)))


def most_scratch(kernel: Kernel, grid: TileGrid) -> int:
    """Bytes of working memory that no tile exceeds; smaller ones may need more than larger ones."""
    return max(scratch_of(kernel, grid, tile) for tile in _sorts(grid))


def scratch_of(kernel: Kernel, grid: TileGrid, tile: Mapping[str, int]) -> int:
    """Bytes of working memory that one tile needs."""
    return _scratch_of(kernel, grid.local_op(tile), tuple(grid.local_types(tile).items()))


def _sorts(grid: TileGrid) -> Iterator[dict[str, int]]:
    """Tiles at the edges and between them, in every combination."""
    loops = [cut.loop for cut in grid.cuts]
    for combination in itertools.product(*(sorted({0, min(1, cut.count - 1), cut.count - 1}) for cut in grid.cuts)):
        yield dict(zip(loops, combination, strict=True))


def _inside(grid: TileGrid) -> dict[str, int]:
    """A tile that is at no edge, if there is one."""
    return {cut.loop: min(1, cut.count - 1) for cut in grid.cuts}


def _selectors(kernel: Kernel, grid: TileGrid, base: Mapping[str, int]) -> tuple[Selector, ...]:
    def along(cut: Cut) -> tuple[int, ...]:
        return _changes(cache(lambda index: _params(kernel, grid, {**base, cut.loop: index})), cut.count)

    found = (Selector(cut, along(cut)) for cut in grid.cuts)
    return tuple(selector for selector in found if selector.changes)


def _changes(params: Callable[[int], Params], count: int) -> tuple[int, ...]:
    """Looked for from both ends, as those inside are nearly always alike."""
    low, high = 0, count - 1
    while low < high and params(low) != params(low + 1):
        low += 1
    while high > low and params(high - 1) != params(high):
        high -= 1
    if params(low) == params(high):
        return (*range(1, low + 1), *range(high + 1, count))
    return tuple(index for index in range(1, count) if params(index - 1) != params(index))


def _params(kernel: Kernel, grid: TileGrid, indices: Mapping[str, int]) -> Params:
    return _params_of(kernel, grid.local_op(indices), tuple(grid.local_types(indices).items()))


@lru_cache(maxsize=2**12)
def _params_of(kernel: Kernel, op: Op, types: tuple[tuple[str, TensorType], ...]) -> Params:
    """Tiles of many grids are alike."""
    return kernel.params(op, dict(types))


@lru_cache(maxsize=2**12)
def _scratch_of(kernel: Kernel, op: Op, types: tuple[tuple[str, TensorType], ...]) -> int:
    return kernel.scratch_bytes(op, dict(types))


def _check(kernel: Kernel, grid: TileGrid, found: Variants, base: Mapping[str, int]) -> None:
    """Every tile along each cut, and every corner of the grid, has the parameters that the array gives it."""
    corners = itertools.product(*({0, cut.count - 1} for cut in grid.cuts))
    loops = [cut.loop for cut in grid.cuts]
    tried = [dict(zip(loops, corner, strict=True)) for corner in corners]
    tried += [{**base, cut.loop: index} for cut in grid.cuts for index in range(cut.count)]
    for indices in tried:
        if found.of(indices) != _params(kernel, grid, indices):
            raise InternalError(f"kernel {kernel.stem}", f"the parameters of tile {indices} are not those of its kind")

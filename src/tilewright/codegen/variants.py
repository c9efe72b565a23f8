"""Parameter structs of a layer's tiles: tiles at the edges of the grid may need others than those inside."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.errors import CompileError
from tilewright.grid import Cut, Grid
from tilewright.op import Params
from tilewright.target import Kernel


@dataclass(frozen=True)
class Selector:
    """Which of a loop's tiles have parameters of their own."""

    cut: Cut
    first: bool
    """The first differs from the second."""
    last: bool
    """The last differs from the one before."""

    @property
    def representatives(self) -> list[int]:
        """An index for each distinct kind, in the order of the C array."""
        last = self.cut.count - 1
        if self.cut.count == 2:
            return [0, 1]
        return [0] * self.first + [1] + [last] * self.last

    @property
    def text(self) -> str:
        """The position in the array, as C."""
        loop, last = self.cut.loop, self.cut.count - 1
        if self.cut.count == 2:
            return loop
        parts = [f"({loop} > 0)"] * self.first + [f"({loop} == {last})"] * self.last
        return " + ".join(parts)

    def position(self, index: int) -> int:
        if self.cut.count == 2:
            return index
        return (self.first and index > 0) + (self.last and index == self.cut.count - 1)


@dataclass(frozen=True)
class Variants:
    selectors: tuple[Selector, ...]
    """One for each dimension of the array."""
    params: tuple[Params, ...]
    """The array, the last dimension fastest."""


def variants(kernel: Kernel, grid: Grid) -> Variants:
    """The parameters of all tiles, each kind once."""
    base = {cut.loop: min(1, cut.count - 1) for cut in grid.cuts}
    selectors = tuple(s for cut in grid.cuts if (s := _selector(kernel, grid, base, cut)) is not None)
    choices = itertools.product(*(selector.representatives for selector in selectors))
    found = tuple(
        _params(kernel, grid, base | {s.cut.loop: i for s, i in zip(selectors, choice, strict=True)})
        for choice in choices
    )
    result = Variants(selectors, found)
    _check(kernel, grid, result, base)
    return result


def _selector(kernel: Kernel, grid: Grid, base: Mapping[str, int], cut: Cut) -> Selector | None:
    last = cut.count - 1
    inside = _params(kernel, grid, {**base, cut.loop: min(1, last)})
    first = _params(kernel, grid, {**base, cut.loop: 0}) != inside
    if cut.count == 2:
        return Selector(cut, True, False) if first else None
    ending = _params(kernel, grid, {**base, cut.loop: last}) != inside
    return Selector(cut, first, ending) if first or ending else None


def _params(kernel: Kernel, grid: Grid, indices: Mapping[str, int]) -> Params:
    return kernel.params(grid.local_op(indices), grid.local_types(indices))


def _check(kernel: Kernel, grid: Grid, found: Variants, base: Mapping[str, int]) -> None:
    """Every tile along each cut, and every corner of the grid, has the parameters that the array gives it."""
    corners = itertools.product(*({0, cut.count - 1} for cut in grid.cuts))
    loops = [cut.loop for cut in grid.cuts]
    tried = [dict(zip(loops, corner, strict=True)) for corner in corners]
    tried += [{**base, cut.loop: index} for cut in grid.cuts for index in range(cut.count)]
    for indices in tried:
        at = 0
        for selector in found.selectors:
            at = at * len(selector.representatives) + selector.position(indices[selector.cut.loop])
        if found.params[at] != _params(kernel, grid, indices):
            raise CompileError(
                f"kernel {kernel.stem}", f"the parameters of tile {indices} are not those of its kind",
                "this is a fault of the compiler: please report it with the model",
            )  # fmt: skip

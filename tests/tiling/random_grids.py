"""Operators on random operands, cut at random along loops that the planner may cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.tiling.test_windows import CASES, INDEXED
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape, type_of
from tilewright.tiling.tiles import Cut, Inside, TileGrid

CUT_OPERATORS = [operator for operator in INDEXED if operator.footprint is Op.footprint and operator.view is not True]
"""Operators whose windows follow from index maps, so that the planner may cut them."""

MOST_CUTS = 3


@dataclass(frozen=True)
class Random:
    grid: TileGrid
    operands: dict[str, Array]

    def tiles(self) -> list[dict[str, int]]:
        return [self.grid.indices(tile) for tile in range(self.grid.tiles)]


@st.composite
def random_grids(draw: Callable[[st.SearchStrategy[Any]], Any], operator: type[Op]) -> Random:
    op, arrays = draw(CASES[operator.__name__])
    operands = op.bind(list(arrays))
    kinds = op.infer({name: type_of(array) for name, array in operands.items()})
    names = op.result_names(len(kinds))
    types = {name: type_of(array) for name, array in operands.items()} | dict(zip(names, kinds, strict=True))
    if not all(kind.elements for kind in types.values()):
        return Random(TileGrid.of(op, types, names), operands)
    inside = {name: draw(places(kind.shape)) for name, kind in types.items() if kind.shape and draw(st.booleans())}
    whole = TileGrid.of(op, types, names, inside=inside)
    fixed = op.unsplittable(whole.shapes) | op.reductions(whole.shapes)
    loops = [loop for loop, extent in whole.extents.items() if loop not in fixed and extent > 1]
    chosen = draw(st.permutations(loops))[: draw(st.integers(0, MOST_CUTS))]
    cuts = tuple(Cut(loop, whole.extents[loop], draw(st.integers(1, whole.extents[loop] - 1))) for loop in chosen)
    return Random(_regular(replace(whole, cuts=cuts)), operands)


@st.composite
def places(draw: Callable[[st.SearchStrategy[Any]], Any], shape: Shape) -> Inside:
    """Somewhere along an axis of a larger tensor."""
    axis, before, after = (draw(st.integers(0, most)) for most in (len(shape) - 1, 3, 3))
    larger = (*shape[:axis], before + shape[axis] + after, *shape[axis + 1 :])
    return Inside(larger, axis, before)


def _regular(grid: TileGrid) -> TileGrid:
    """Without the last cuts where some window does not move in even steps."""
    return grid if grid.axes is not None else _regular(replace(grid, cuts=grid.cuts[:-1]))

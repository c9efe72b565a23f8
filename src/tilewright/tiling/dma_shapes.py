"""Windows of tensors as DMA transfers: one run of bytes, rows with a stride, or a loop over those."""

from __future__ import annotations

import math

from tilewright.ir.op import Limit
from tilewright.ir.types import BYTES
from tilewright.records import dataclass
from tilewright.tiling.tiles import AxisWindow, TileGrid, dense_strides


@dataclass(frozen=True)
class Level:
    """An axis together with those inside it that every tile sees whole: they move as one."""

    axis: AxisWindow
    factor: int
    """Elements of the inner axes for each of `axis`."""
    stride: int
    """Bytes from one element of the innermost of them to the next."""
    many: bool
    """Some tile has more than one element of it."""
    limit: Limit | None = None
    """What bounds the elements that are there when it runs."""


@dataclass(frozen=True)
class DmaShape:
    """How a window lies in memory."""

    start: int
    """Bytes from the start of the tensor's home to its own first byte."""
    levels: tuple[Level, ...]
    """Outermost first: they give the offset of the window's first byte. The last is a run of neighbouring bytes."""

    @property
    def run(self) -> Level:
        return self.levels[-1]

    @property
    def strided(self) -> tuple[Level, ...]:
        """The levels that make more than one run, outermost first."""
        return tuple(level for level in self.levels[:-1] if level.many)


def dma_shape(grid: TileGrid, name: str, limited: bool = False) -> DmaShape:
    """The window's shape; if `limited`, no more of it than the operator looks at."""
    axes = grid.known_axes
    limit = grid.op.limits(grid.shapes).get(name) if limited else None
    kind, place = grid.types[name], grid.inside.get(name)
    element = BYTES[kind.dtype]
    strides = dense_strides(kind.shape) if place is None else place.strides
    levels: list[Level] = []
    factor, innermost = 1, len(kind.shape) - 1
    for position in reversed(range(len(kind.shape))):
        axis = axes[name][position]
        bound = limit if limit is not None and limit.axis == position else None
        is_whole = grid.is_full(name, position) and position > 0 and bound is None
        if is_whole and strides[position - 1] == strides[position] * axis.size:
            factor *= axis.size
            continue
        many = factor > 1 or axis.most > 1
        if many or not levels or axis.loop or axis.span(0)[0] > 0:
            levels.append(Level(axis, factor, element * strides[innermost], many, bound))
        factor, innermost = 1, position - 1
    first = 0 if place is None else element * place.start * strides[place.axis]
    if 0 in kind.shape:
        return DmaShape(first, (Level(NOTHING, 1, element, False),))
    return DmaShape(first, tuple(reversed(levels)) or (Level(SCALAR, 1, element, False),))


def apart(grid: TileGrid) -> str:
    """Of a layer that only copies, the operand or result whose rows may lie apart: the result, if X is dense."""
    return "Y" if grid.is_contiguous("X") else "X"


SCALAR = AxisWindow(1, base=0, length=1, end=1)
NOTHING = AxisWindow(0, base=0, length=0, end=0)


def cost(grid: TileGrid, name: str) -> tuple[int, int, int]:
    """Commands, runs and bytes of the transfer of a typical tile."""
    shape = dma_shape(grid, name)
    counts = [level.axis.most * level.factor for level in shape.strided]
    run = shape.run.axis.most * shape.run.factor * BYTES[grid.types[name].dtype]
    runs = math.prod(counts)
    return math.prod(counts[:-1]), runs, runs * run

"""One layer cut into tiles: which part of every operand and result each tile touches.

A tile is numbered; its number gives an index for every cut loop. Along one axis of a tensor a tile's window depends
on at most one of these indices, so that generated C can compute it: `Axis` is that computation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tilewright.ir.affine import Affine, Box, Span
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, Shape, TensorType
from tilewright.tiling.windows import window


@dataclass(frozen=True)
class Cut:
    """A loop in parts of `size`; the last part may be shorter."""

    loop: str
    extent: int
    size: int

    @property
    def count(self) -> int:
        return -(-self.extent // self.size)

    def span(self, index: int) -> Span:
        return index * self.size, min((index + 1) * self.size, self.extent)


@dataclass(frozen=True)
class AxisWindow:
    """The window of one axis: [base + step * index, ... + length) without what lies outside [0, end)."""

    size: int
    """Elements of the whole axis."""
    loop: str = ""
    """The cut loop that moves the window; empty where it stands still."""
    step: int = 0
    base: int = 0
    length: int = 0
    end: int = 0

    def span(self, index: int) -> Span:
        start = self.base + self.step * index
        return max(start, 0), min(start + self.length, self.end)

    def elements(self, index: int) -> int:
        start, stop = self.span(index)
        return stop - start

    def most(self, count: int) -> int:
        """Elements of the longest of `count` windows: they grow until none starts before the axis, and shrink from
        where they end behind it."""
        if not self.loop:
            return self.elements(0)
        turns = -self.base // self.step, (self.end - self.base - self.length) // self.step
        return max(self.elements(min(max(turn + after, 0), count - 1)) for turn in turns for after in (0, 1))

    @property
    def full(self) -> bool:
        """Every tile sees all of it."""
        return not self.loop and self.span(0) == (0, self.size)


@dataclass(frozen=True)
class Inside:
    """Where a tensor lies within a larger one."""

    shape: Shape
    """Of the larger one."""
    axis: int
    start: int


@dataclass(frozen=True)
class TileGrid:
    op: Op
    types: Mapping[str, TensorType]
    """Of operands and results, by their names in the operator."""
    results: tuple[str, ...]
    cuts: tuple[Cut, ...] = ()
    """Outermost first; only loops that are cut at all."""
    inside: Mapping[str, Inside] = field(default_factory=dict)
    """Operands and results that lie within larger tensors."""

    @property
    def tiles(self) -> int:
        return math.prod(cut.count for cut in self.cuts)

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """Of the operands: what the operator's geometry starts from."""
        return {name: kind.shape for name, kind in self.types.items() if name not in self.results}

    @cached_property
    def extents(self) -> dict[str, int]:
        return self.op.extents(self.shapes)

    @property
    def row(self) -> int:
        """Elements along the innermost axis of the first result."""
        return next(iter(self.types[self.results[0]].shape[-1:]), 1)

    @cached_property
    def row_loops(self) -> frozenset[str]:
        """The loops along that axis."""
        return frozenset(loop for axis in self.op.index(self.shapes)[self.results[0]][-1:] for loop in axis.loops)

    def indices(self, tile: int) -> dict[str, int]:
        found = {}
        for cut in reversed(self.cuts):
            tile, found[cut.loop] = divmod(tile, cut.count)
        return found

    def box(self, indices: Mapping[str, int]) -> Box:
        whole: dict[str, Span] = {loop: (0, extent) for loop, extent in self.extents.items()}
        return whole | {cut.loop: cut.span(indices[cut.loop]) for cut in self.cuts}

    def local_types(self, indices: Mapping[str, int]) -> dict[str, TensorType]:
        """What a tile's operands and results look like."""
        if not self.cuts:
            return dict(self.types)
        footprint = self.op.footprint(self.shapes, self.box(indices))
        return {
            name: TensorType(kind.dtype, tuple(s.stop - s.start for s in window(footprint[name], kind.shape)))
            for name, kind in self.types.items()
        }

    def local_op(self, indices: Mapping[str, int]) -> Op:
        return self.op.at(self.shapes, self.box(indices)) if self.cuts else self.op

    @cached_property
    def axes(self) -> dict[str, tuple[AxisWindow, ...]] | None:
        """The windows of every operand and result; None where one does not move in even steps."""
        if not self.cuts:
            return {name: tuple(_still(size) for size in kind.shape) for name, kind in self.types.items()}
        index = self.op.index(self.shapes)
        found = {
            name: tuple(self._axis(expression, size) for expression, size in zip(index[name], kind.shape, strict=True))
            for name, kind in self.types.items()
        }
        if any(axis is None for axes in found.values() for axis in axes):
            return None
        return {name: tuple(axis for axis in axes if axis is not None) for name, axes in found.items()}

    def _axis(self, expression: Affine, size: int) -> AxisWindow | None:
        cuts = {cut.loop: cut for cut in self.cuts}
        moving = [(cuts[loop], factor) for loop, factor in expression.terms if loop in cuts]
        whole = self.box(dict.fromkeys(cuts, 0))
        if len(moving) > 1:
            return None
        if not moving:
            start, stop = expression.span(whole)
            return AxisWindow(size, base=start, length=stop - start, end=min(stop, size)) if stop > 0 else None
        ((cut, factor),) = moving
        if factor < 1:
            return None
        start, stop = expression.span(whole)
        last = expression.span({**whole, cut.loop: cut.span(cut.count - 1)})[1]
        axis = AxisWindow(size, cut.loop, factor * cut.size, start, stop - start, min(last, size))
        # The shortest windows are at the ends.
        return axis if min(axis.elements(0), axis.elements(cut.count - 1)) > 0 else None

    def most(self, axis: AxisWindow) -> int:
        """The most elements of an axis that a tile sees."""
        return axis.most(next((cut.count for cut in self.cuts if cut.loop == axis.loop), 1))

    def largest(self, name: str) -> int:
        """Bytes of the largest window of an operand or result."""
        assert self.axes is not None
        return math.prod(self.most(axis) for axis in self.axes[name]) * BYTES[self.types[name].dtype]

    def loops_of(self, name: str) -> frozenset[str]:
        """The cut loops that move the window of an operand or result."""
        assert self.axes is not None
        return frozenset(axis.loop for axis in self.axes[name] if axis.loop)

    def is_full(self, name: str, position: int) -> bool:
        """Whether every tile sees the whole of an axis of what a tensor lies in."""
        assert self.axes is not None
        place = self.inside.get(name)
        return self.axes[name][position].full and (place is None or place.axis != position)

    def is_contiguous(self, name: str) -> bool:
        """Whether every tile's window is one run of bytes of the whole tensor."""
        assert self.axes is not None
        if not self.types[name].elements:
            return True
        started = False
        for position, axis in enumerate(self.axes[name]):
            if started and not self.is_full(name, position):
                return False
            started = started or self.most(axis) > 1
        return True


def _still(size: int) -> AxisWindow:
    return AxisWindow(size, base=0, length=size, end=size)

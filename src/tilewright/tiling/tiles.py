"""One layer cut into tiles: which part of every operand and result each tile touches.

A tile is numbered; its number gives an index for every cut loop. Along one axis of a tensor a tile's window depends
on at most one of these indices, so that generated C can compute it: `Axis` is that computation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, lru_cache
from typing import Any

from tilewright.errors import present
from tilewright.ir.affine import Box, Span, clip
from tilewright.ir.op import Index, Op
from tilewright.ir.types import BYTES, Shape, TensorType
from tilewright.records import dataclass
from tilewright.tiling.windows import window

LoopSpan = tuple[str, int, int]
"""A loop with the first of its values, and the one behind the last."""


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
    count: int = 1
    """Of windows."""

    def span(self, index: int) -> Span:
        start = self.base + self.step * index
        return max(start, 0), min(start + self.length, self.end)

    def elements(self, index: int) -> int:
        start, stop = self.span(index)
        return stop - start

    @cached_property
    def most(self) -> int:
        """Elements of the longest window: they grow until none starts before the axis, and shrink from where they end
        behind it."""
        if not self.loop:
            return self.elements(0)
        turns = -self.base // self.step, (self.end - self.base - self.length) // self.step
        return max(self.elements(min(max(turn + after, 0), self.count - 1)) for turn in turns for after in (0, 1))

    @cached_property
    def full(self) -> bool:
        """Every tile sees all of it."""
        return not self.loop and self.span(0) == (0, self.size)


@dataclass(frozen=True)
class Inside:
    """Where a tensor lies within a larger one, or in bytes that have its axes in another order."""

    shape: Shape
    """Of the larger one."""
    axis: int
    start: int
    order: tuple[int, ...] = ()
    """The tensor's axes as `shape` has them, outermost first; empty where that is their own order."""

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Elements from one to the next along each axis of the tensor."""
        dense = dense_strides(self.shape)
        return tuple(dense[self.order.index(axis)] for axis in range(len(dense))) if self.order else dense


def dense_strides(shape: Shape) -> tuple[int, ...]:
    """Elements from one to the next along each axis."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


@dataclass(frozen=True)
class TileGrid:
    geometry: Geometry
    cuts: tuple[Cut, ...] = ()
    """Outermost first; only loops that are cut at all."""
    inside: Mapping[str, Inside] = field(default_factory=dict)
    """Operands and results that lie within larger tensors."""
    whole_axes: bool = False
    """Whether a tile has all of an axis that no cut moves, also where nobody reads its end, so that windows stay in one
    piece."""

    @property
    def tiles(self) -> int:
        return math.prod(cut.count for cut in self.cuts)

    @classmethod
    def of(
        cls, op: Op, types: Mapping[str, TensorType], results: tuple[str, ...], cuts: tuple[Cut, ...] = (),
        inside: Mapping[str, Inside] | None = None,
    ) -> TileGrid:  # fmt: skip
        """Equal layers, and other kernels for one, share what is known of their tensors."""
        return cls(_geometry(op, tuple(types.items()), results), cuts, inside or {})

    @property
    def op(self) -> Op:
        return self.geometry.op

    @property
    def types(self) -> Mapping[str, TensorType]:
        """Of operands and results, by their names in the operator."""
        return self.geometry.types

    @property
    def results(self) -> tuple[str, ...]:
        return self.geometry.results

    def in_tiles(self, cuts: tuple[Cut, ...]) -> TileGrid:
        """This layer cut in another way."""
        return replace(self, cuts=cuts)

    @property
    def shapes(self) -> dict[str, Shape]:
        """Of the operands: what the operator's geometry starts from."""
        return self.geometry.shapes

    @property
    def extents(self) -> dict[str, int]:
        return self.geometry.extents

    @property
    def row(self) -> int:
        """Elements along the innermost axis of the first result."""
        return next(iter(self.types[self.results[0]].shape[-1:]), 1)

    @property
    def row_loops(self) -> frozenset[str]:
        """The loops along that axis."""
        return self.geometry.row_loops

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
        if self.whole_axes:
            shapes = {
                name: tuple(stop - start for start, stop in spans) for name, spans in self.windows(indices).items()
            }
            return {name: replace(kind, shape=shapes[name]) for name, kind in self.types.items()}
        spans = [(cut.loop, *cut.span(indices[cut.loop])) for cut in self.cuts]
        return {name: self.geometry.local_type(name, spans) for name in self.types}

    def windows(self, indices: Mapping[str, int]) -> dict[str, tuple[Span, ...]]:
        """What a tile has of every operand and result, along each axis."""
        if not self.cuts:
            return {name: tuple((0, size) for size in kind.shape) for name, kind in self.types.items()}
        if self.whole_axes:
            return {
                name: tuple(axis.span(indices.get(axis.loop, 0)) for axis in axes)
                for name, axes in self.known_axes.items()
            }
        found = self.op.footprint(self.shapes, self.box(indices))
        return {
            name: tuple(clip(span, size) for span, size in zip(found[name], kind.shape, strict=True))
            for name, kind in self.types.items()
        }

    def elements_before(self, name: str, indices: Mapping[str, int]) -> int:
        """Elements of an operand or result before the first that a tile has."""
        before = 0
        for size, (first, _) in zip(self.types[name].shape, self.windows(indices)[name], strict=True):
            before = before * size + first
        return before

    def local_op(self, indices: Mapping[str, int]) -> Op:
        if not self.cuts:
            return self.op
        return self.geometry.local_op(tuple((cut.loop, *cut.span(indices[cut.loop])) for cut in self.cuts))

    @cached_property
    def axes(self) -> dict[str, tuple[AxisWindow, ...]] | None:
        """The windows of every operand and result; None where one does not move in even steps."""
        if not self.cuts:
            return {name: tuple(_still(size) for size in kind.shape) for name, kind in self.types.items()}
        cuts = {cut.loop: cut for cut in self.cuts}
        found: dict[str, tuple[AxisWindow, ...]] = {}
        for name in self.types:
            axes = self.geometry.windows(name, cuts)
            if axes is None:
                return None
            found[name] = tuple(axis if axis.loop or not self.whole_axes else _still(axis.size) for axis in axes)
        return found

    @cached_property
    def known_axes(self) -> dict[str, tuple[AxisWindow, ...]]:
        """The windows of a grid whose windows move in even steps, as those of every tiling option do."""
        return present(self.axes, f"tiles of {self.op.kind}", "a window does not move in even steps")

    def largest(self, name: str) -> int:
        """Bytes of the largest window of an operand or result."""
        return math.prod(axis.most for axis in self.known_axes[name]) * BYTES[self.types[name].dtype]

    def loops_of(self, name: str) -> frozenset[str]:
        """The cut loops that move the window of an operand or result."""
        return frozenset(axis.loop for axis in self.known_axes[name] if axis.loop)

    def is_full(self, name: str, position: int) -> bool:
        """Whether every tile sees the whole of an axis of what a tensor lies in."""
        place = self.inside.get(name)
        return self.known_axes[name][position].full and (place is None or place.axis != position)

    def is_contiguous(self, name: str) -> bool:
        """Whether every tile's window is one run of bytes of the whole tensor."""
        if not self.types[name].elements:
            return True
        if name in self.inside and self.inside[name].order:
            return False
        started = False
        for position, axis in enumerate(self.known_axes[name]):
            if started and not self.is_full(name, position):
                return False
            started = started or axis.most > 1
        return True


@dataclass(frozen=True)
class Geometry:
    """How the tensors of a layer are indexed, and the windows of all cuts that were asked for: a tensor's depend only
    on the cuts of its own loops, so that grids have most of them in common."""

    op: Op
    types: Mapping[str, TensorType]
    results: tuple[str, ...]
    _known: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Windows, types and operators that were asked for before."""

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        return {name: kind.shape for name, kind in self.types.items() if name not in self.results}

    @cached_property
    def extents(self) -> dict[str, int]:
        return self.op.extents(self.shapes)

    @cached_property
    def index(self) -> Index:
        return self.op.index(self.shapes)

    @cached_property
    def whole(self) -> dict[str, Span]:
        return {loop: (0, extent) for loop, extent in self.extents.items()}

    @cached_property
    def is_affine(self) -> bool:
        """Whether the operator's index tells what a tile touches."""
        return type(self.op).footprint is Op.footprint

    @cached_property
    def axis_loops(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        return {name: tuple(axis.loops for axis in self.index[name]) for name in self.types}

    @cached_property
    def loops(self) -> dict[str, frozenset[str]]:
        """The loops that the windows of each operand and result depend on."""
        if not self.is_affine:
            return dict.fromkeys(self.types, frozenset(self.extents))
        return {name: frozenset(loop for axis in self.index[name] for loop in axis.loops) for name in self.types}

    @cached_property
    def row_loops(self) -> frozenset[str]:
        return frozenset(loop for axis in self.index[self.results[0]][-1:] for loop in axis.loops)

    def local_op(self, spans: tuple[LoopSpan, ...]) -> Op:
        if spans not in self._known:
            self._known[spans] = self.op.at(self.shapes, self._box(spans))
        made: Op = self._known[spans]
        return made

    def local_type(self, name: str, spans: Sequence[LoopSpan]) -> TensorType:
        loops = self.loops[name]
        key = name, tuple(span for span in spans if span[0] in loops)
        if key not in self._known:
            kind = self.types[name]
            shown = window(self._footprint(name, self._box(spans)), kind.shape)
            self._known[key] = TensorType(kind.dtype, tuple(s.stop - s.start for s in shown))
        made: TensorType = self._known[key]
        return made

    def _footprint(self, name: str, box: Box) -> tuple[Span, ...]:
        if not self.is_affine:
            return self.op.footprint(self.shapes, box)[name]
        return tuple(axis.span(box) for axis in self.index[name])

    def _box(self, spans: Iterable[LoopSpan]) -> Box:
        return self.whole | {loop: (start, stop) for loop, start, stop in spans}

    def windows(self, name: str, cuts: Mapping[str, Cut]) -> tuple[AxisWindow, ...] | None:
        """Of all axes of an operand or result, or None where one does not move in even steps."""
        found = []
        for position, loops in enumerate(self.axis_loops[name]):
            key = name, position, tuple(cuts[loop] for loop in loops if loop in cuts)
            if key not in self._known:
                self._known[key] = self._axis(*key)
            axis: AxisWindow | None = self._known[key]
            if axis is None:
                return None
            found.append(axis)
        return tuple(found)

    def _axis(self, name: str, position: int, moving: Sequence[Cut]) -> AxisWindow | None:
        expression, size = self.index[name][position], self.types[name].shape[position]
        if len(moving) > 1:
            return None
        start, stop = expression.span(self.whole | {cut.loop: cut.span(0) for cut in moving})
        if not moving:
            return AxisWindow(size, base=start, length=stop - start, end=min(stop, size)) if stop > 0 else None
        (cut,) = moving
        factor = dict(expression.terms)[cut.loop]
        if factor < 1:
            return None
        last = expression.span(self.whole | {cut.loop: cut.span(cut.count - 1)})[1]
        axis = AxisWindow(size, cut.loop, factor * cut.size, start, stop - start, min(last, size), cut.count)
        # The shortest windows are at the ends.
        return axis if min(axis.elements(0), axis.elements(cut.count - 1)) > 0 else None


@lru_cache(maxsize=256)
def _geometry(op: Op, types: tuple[tuple[str, TensorType], ...], results: tuple[str, ...]) -> Geometry:
    return Geometry(op, dict(types), results)


def _still(size: int) -> AxisWindow:
    return AxisWindow(size, base=0, length=size, end=size)

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass


@dataclass(frozen=True)
class PlaceRows(Internal):
    """X with `rows` in it along an axis, from `start` on: a tensor that is made strip by strip."""

    operands: ClassVar[tuple[str, ...]] = ("X", "rows")
    overwrites: ClassVar[Mapping[str, str]] = MappingProxyType({"Y": "X"})
    axis: int = 0
    start: int = 0

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, "rows": tuple(map(whole, shapes["rows"])), "Y": axes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(f"d{axis}" for axis in range(len(shapes["X"])))

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind, rows = types["X"], types["rows"]
        others = [shape[: self.axis] + shape[self.axis + 1 :] for shape in (kind.shape, rows.shape)]
        if len(kind.shape) <= self.axis or others[0] != others[1] or rows.dtype != kind.dtype:
            raise Refusal(f"rows of {rows} cannot be placed in {kind} along axis {self.axis}")
        if not 0 <= self.start <= kind.shape[self.axis] - rows.shape[self.axis]:
            raise Refusal(f"{rows.shape[self.axis]} rows from {self.start} on, of {kind.shape[self.axis]}")

    def numpy(self, X: Array, rows: Array) -> Array:
        placed = X.copy()
        placed[(slice(None),) * self.axis + (slice(self.start, self.start + rows.shape[self.axis]),)] = rows
        return placed

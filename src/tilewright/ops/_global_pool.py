"""Base of pools over all spatial axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import FIRST, axis_loops
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Shape, Shapes, TensorType
from tilewright.records import dataclass


@dataclass(frozen=True)
class GlobalPool(Op):
    """X[n, c, ...] to Y[n, c, 1, ...]."""

    accepts: ClassVar[frozenset[str]] = frozenset()

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, "Y": (*axes[:2], *(FIRST,) * (len(axes) - 2))}

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype not in self.accepts:
            raise Refusal(f"X is {types['X'].dtype}; supported: {', '.join(sorted(self.accepts))}", "insert a Cast")
        if len(types["X"].shape) < 3 or 0 in types["X"].shape[2:]:
            raise Refusal(f"X has shape {types['X'].shape}; at least one spatial axis with elements is needed")


def spatial_axes(shape: Shape) -> tuple[int, ...]:
    return tuple(range(2, len(shape)))

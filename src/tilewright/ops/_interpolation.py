"""Base of interpolation along one axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, loops, whole
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Shapes, TensorType
from tilewright.records import dataclass


@dataclass(frozen=True)
class Interpolation(Op):
    """Along one axis, output j is made of weight[j, t] * X[taps[j, t]] for all t."""

    operands: ClassVar[tuple[str, ...]] = ("X", "taps", "weight")
    axis: int = 0

    def index(self, shapes: Shapes) -> Index:
        x, (along, tap) = axis_loops(len(shapes["X"])), loops("j t")
        before, after = x[: self.axis], x[self.axis + 1 :]
        return {
            "X": (*before, whole(shapes["X"][self.axis]), *after),
            "taps": (along, tap),
            "weight": (along, tap),
            "Y": (*before, along, *after),
        }

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"t"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["taps"].shape != types["weight"].shape or not 0 <= self.axis < len(types["X"].shape):
            raise Refusal(f"{types['taps']} taps and {types['weight']} weights along axis {self.axis} of {types['X']}")

"""Floats as bytes of a scale that follows from all of them: nothing is known before the last one has been seen."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.errors import Refusal
from tilewright.ir.types import Shapes, TensorType
from tilewright.ops._internal import Internal


class RangeOfFloats(Internal):
    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(self.extents(shapes))

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype != "float32" or not types["X"].elements:
            raise Refusal(f"X is {types['X']}; floats are expected")

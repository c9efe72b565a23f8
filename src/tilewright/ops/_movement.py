"""Base of operators that only move elements: a walk through X in the order of the result."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.op import Op
from tilewright.ir.types import Shape
from tilewright.records import dataclass


@dataclass(frozen=True)
class StridedCopy(Op):
    """Element (i, j, ...) of Y is element `start + i*stride0 + j*stride1 + ...` of X."""

    def walk(self, shape: Shape) -> tuple[int, Sequence[int]]:
        """Where in an X of this shape the walk starts, and its stride along each axis of Y."""
        raise NotImplementedError(type(self).__name__)

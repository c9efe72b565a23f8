"""Sums over all axes but the last one of products, which are not stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, loops
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.records import dataclass

CHANNELS = "c"
"""The loop over the last axis."""


@dataclass(frozen=True)
class ProductSum(Op):
    """Sums of A * B: a number for each channel."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B")

    def index(self, shapes: Shapes) -> Index:
        channels = loops(CHANNELS)
        axes = (*axis_loops(len(shapes["A"]) - 1), *channels)
        return {"A": axes, "B": axes, "Y": channels}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        *rows, channels = shapes["A"]
        return {f"d{axis}": size for axis, size in enumerate(rows)} | {CHANNELS: channels}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(f"d{axis}" for axis in range(len(shapes["A"]) - 1))

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["A"].shape
        if len(shape) < 2:
            raise Refusal(f"A has shape {shape} and no rows")
        for name, kind in types.items():
            if kind.dtype != "float32" or kind.shape != shape:
                raise Refusal(f"{name} is {kind} beside {shape}")

    def numpy(self, A: Array, B: Array) -> Array:
        return (A.astype(np.float64) * B).sum(tuple(range(A.ndim - 1))).astype(A.dtype)

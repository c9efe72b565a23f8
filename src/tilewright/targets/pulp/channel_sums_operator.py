"""Sums over all axes but the last one of what is computed from each element, which is not stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.records import dataclass


@dataclass(frozen=True)
class ChannelSum(Op):
    """A tensor, others of its shape, and numbers of channels; the result has a number for each channel."""

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["A"]))
        return {name: axes if len(shape) == len(axes) else axes[-1:] for name, shape in shapes.items()} | {
            "Y": axes[-1:]
        }

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["A"])}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(f"d{axis}" for axis in range(len(shapes["A"]) - 1))

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["A"].shape
        if len(shape) < 2:
            raise Refusal(f"A has shape {shape} and no rows")
        for name, kind in types.items():
            if kind.dtype != "float32" or kind.shape not in (shape, shape[-1:]):
                raise Refusal(f"{name} is {kind} beside {shape}")


@dataclass(frozen=True)
class ProductSum(ChannelSum):
    """Sums of A * B."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B")

    def numpy(self, A: Array, B: Array) -> Array:
        return (A.astype(np.float64) * B).sum(tuple(range(A.ndim - 1))).astype(A.dtype)


@dataclass(frozen=True)
class SquareSum(ChannelSum):
    """Sums of the squares of A * scale + B."""

    operands: ClassVar[tuple[str, ...]] = ("A", "scale", "B")

    def numpy(self, A: Array, scale: Array, B: Array) -> Array:
        return np.square(A.astype(np.float64) * scale + B).sum(tuple(range(A.ndim - 1))).astype(A.dtype)

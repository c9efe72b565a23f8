from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.op import Index
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_fixed_point import inverse_square_root
from tilewright.ir.tflite_rounding import scaled
from tilewright.ir.types import Array, Shapes, TensorType, limits
from tilewright.ops._internal import Internal
from tilewright.records import dataclass

RESULT_BITS = 7
"""A row of length 1 has 2**RESULT_BITS steps."""
LONGEST = 2**29 // 255**2
"""Sums of squares stay below 2**29."""


@dataclass(frozen=True)
class TfliteL2Norm(Internal):
    """Rows of bytes divided by their length, as TensorFlow Lite has it: by an inverse root in fixed point."""

    operands: ClassVar[tuple[str, ...]] = ("X",)
    x_zero: int = 0

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, "Y": axes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{len(shapes['X']) - 1}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if kind.dtype != "int8" or not kind.shape:
            raise Refusal(f"X is {kind}; rows of int8 are expected")
        if kind.shape[-1] > LONGEST:
            raise Refusal(f"rows of {kind.shape[-1]} elements; at most {LONGEST} are supported")

    def numpy(self, X: Array) -> Array:
        wide = X.astype(np.int64) - self.x_zero
        squares = (wide * wide).sum(-1, keepdims=True)
        roots = [inverse_square_root(max(int(square), 1)) for square in squares.reshape(-1)]
        mul, power = (np.array([root[at] for root in roots], np.int64).reshape(squares.shape) for at in (0, 1))
        return np.asarray(np.clip(scaled(wide, mul, power + RESULT_BITS, Rounding.DOUBLE), *limits("int8")), np.int8)

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.op import Index
from tilewright.ir.tflite_rounding import divided_by_power, high_product
from tilewright.ir.types import BYTES, Array, Shapes, TensorType, limits
from tilewright.ops._internal import Internal
from tilewright.ops.lookup import ENTRIES
from tilewright.records import dataclass

SUM_BITS = 12
"""Exponentials have 31 fractional bits, their sum that many fewer."""
ONE = (1 << 31) - 1
SLOPE, OFFSET, ONE_OF_TWO = -1010580540, 1515870810, 1 << 29
"""Of the first guess at a reciprocal: -32 / 17, 48 / 17 and 1 with two integer bits."""


@dataclass(frozen=True)
class TfliteSoftmax(Internal):
    """Softmax of rows of 8-bit integers as TensorFlow Lite Micro has it, in fixed point.

    `table` holds exp(-d) for the distance d = max(x) - x, with 31 fractional bits, and 0 for what does not count.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "table")
    dtype: str = "int8"

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, "table": (whole(ENTRIES),), "Y": axes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{len(shapes['X']) - 1}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if kind.dtype not in ("int8", "uint8") or not kind.shape:
            raise Refusal(f"X is {kind}; rows of int8 or uint8 are expected")
        if types["table"] != TensorType("int32", (ENTRIES,)):
            raise Refusal(f"the table is {types['table']}; {ENTRIES} entries of int32 are expected")
        if kind.shape[-1] >= 1 << SUM_BITS:
            raise Refusal(f"rows of {kind.shape[-1]} elements; their sum has {SUM_BITS} integer bits")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.dtype,)

    def numpy(self, X: Array, table: Array) -> Array:
        low, high = limits(self.dtype)
        if not X.size:
            return np.zeros(X.shape, self.dtype)
        wide = X.astype(np.int64)
        powers = table[wide.max(-1, keepdims=True) - wide].astype(np.int64)
        share, over = _reciprocal(divided_by_power(powers, SUM_BITS).sum(-1, keepdims=True))
        value = divided_by_power(high_product(powers, share), over + 31 - 8 * BYTES[self.dtype])
        return np.asarray(np.clip(value + low, low, high), self.dtype)


def _reciprocal(total: Array) -> tuple[Array, Array]:
    """1 / total as a fraction of 31 bits, and by how many bits it is too large."""
    zeros = 31 - np.floor(np.log2(total.astype(np.float64))).astype(np.int64)
    half = ((total << zeros) - (1 << 31) + ONE + 1) // 2
    x = OFFSET + high_product(half, SLOPE)
    for _ in range(3):
        x = x + (high_product(x, ONE_OF_TWO - high_product(half, x)) << 2)
    return np.minimum(2 * x, ONE), SUM_BITS - zeros

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.op import Index
from tilewright.ir.requant import NO_CHANGE, Requant, shift_right
from tilewright.ir.rounding import PLAIN, Rounding
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass

X_BITS = 16

LOWEST = -(2 ** (X_BITS - 1))

TABLES = tuple((2**size + 1,) for size in range(X_BITS + 1))
"""The shapes that a table may have."""


@dataclass(frozen=True)
class QLinearFunction(Internal):
    """A function of a 16-bit integer, by a table of 2**k + 1 values at equal distances, linear in between, in 32 bits.

    With i = (x - LOWEST) >> b and r = the b bits below, where b = 16 - k:
    y = clamp(round((table[i] * 2**b + (table[i + 1] - table[i]) * r) / 2**shift) + zero_point)
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "table")
    roundings: ClassVar[frozenset[Rounding]] = PLAIN
    elementwise: ClassVar[bool] = True
    requant: Requant = NO_CHANGE

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, "table": (whole(shapes["table"][0]),), "Y": axes}

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype != "int16" or types["table"].dtype != "int32":
            raise Refusal(f"a table of {types['table'].dtype} for {types['X'].dtype}; int32 for int16 is expected")
        shape = types["table"].shape
        if shape not in TABLES:
            raise Refusal(f"the table has shape {shape}; a power of two and one more are expected")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, X: Array, table: Array) -> Array:
        bits = fraction_bits(table.shape)
        above = X.astype(np.int32) - LOWEST
        at, rest = above >> bits, above & ((1 << bits) - 1)
        total = (table[at] << bits) + (table[at + 1] - table[at]) * rest
        value = shift_right(total, self.requant.shift, self.requant.rounding) + self.requant.zero_point
        return np.asarray(np.clip(value, self.requant.low, self.requant.high), self.requant.dtype)


def fraction_bits(table: Shape) -> int:
    """How many of the lower bits of x lie between two values of a table."""
    return X_BITS + 1 - (table[0] - 1).bit_length()

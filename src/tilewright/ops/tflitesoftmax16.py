from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.op import Index
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_rounding import scaled
from tilewright.ir.types import Array, Shapes, TensorType, limits
from tilewright.ops._internal import Internal
from tilewright.records import dataclass

ENTRIES = 513
"""Values for every 128th of 2**16 positions, and one more behind the last."""
LONGEST = 1 << 15
"""Elements of a row: a sum of that many numbers of 15 bits leaves the sign of 32 bits alone."""
LOW, HIGH = limits("int16")


@dataclass(frozen=True)
class TfliteSoftmax16(Internal):
    """Softmax of rows of 16-bit integers, as TensorFlow Lite has it, in numbers with 15 fractional bits.

    `exps` holds exp(x) for x from -10 to 0, `shares` 1 / (1 + x) for x from 0 to 1, both linear in between. Distances
    from a row's largest element are scaled by `mul` and `exponent`, so that 2**16 of them are 10.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "exps", "shares")
    mul: int = 1 << 30
    exponent: int = 0
    rounding: Rounding = Rounding.DOUBLE

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, "exps": (whole(ENTRIES),), "shares": (whole(ENTRIES),), "Y": axes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{len(shapes['X']) - 1}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind, table = types["X"], TensorType("int16", (ENTRIES,))
        if kind.dtype != "int16" or not kind.shape or kind.shape[-1] > LONGEST:
            raise Refusal(f"X is {kind}; rows of at most {LONGEST} elements of int16 are expected")
        if types["exps"] != table or types["shares"] != table:
            raise Refusal(f"the tables are {types['exps']} and {types['shares']}; {table} is expected")
        if not -31 <= self.exponent <= 14:
            raise Refusal(f"distances are scaled by 2**{self.exponent}; 2**14 at most leaves them in 32 bits")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int16",)

    def numpy(self, X: Array, exps: Array, shares: Array) -> Array:
        if not X.size:
            return X.copy()
        wide = X.astype(np.int64)
        distance = wide - wide.max(-1, keepdims=True)
        position = scaled(distance, np.asarray(self.mul), np.asarray(self.exponent), self.rounding) + HIGH
        powers = found(exps, np.clip(position, LOW, HIGH))
        total = powers.sum(-1, keepdims=True)
        bits = np.floor(np.log2(total.astype(np.float64))).astype(np.int64)
        mantissa = ((total << (30 - bits)) + (1 << 13)) >> 14
        share = found(shares, np.clip(mantissa - (1 << 15) - (1 << 16), LOW, HIGH))
        value = (powers * share + (np.int64(1) << (bits - 1))) >> bits
        return np.asarray(np.clip(value, 0, HIGH), np.int16)


def found(table: Array, position: Array) -> Array:
    """A table's value at a 16-bit position, linear between entries."""
    at, rest = (position >> 7) + 256, position & 127
    wide = table.astype(np.int64)
    return np.asarray(wide[at] + (((wide[at + 1] - wide[at]) * rest + 64) >> 7))

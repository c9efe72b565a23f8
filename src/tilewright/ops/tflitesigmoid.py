from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass

ENTRIES = 256
MOST_MUL = (1 << 15) - 1
"""Products with 16-bit numbers then leave a bit of 32 to their rounding."""


@dataclass(frozen=True)
class TfliteSigmoid(Internal):
    """The logistic function or tanh of 16-bit integers, as TensorFlow Lite has them.

    `table` holds the logistic function of 0, 1/24, 2/24 ... with 16 fractional bits. z = round(x * mul / 2**shift)
    stands for z / (3 * 2**12); between two entries the function is linear, and tanh(z) = 2 * logistic(2 * z) - 1.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "table")
    elementwise: ClassVar[bool] = True
    mul: int = 3
    shift: int = 0
    is_tanh: bool = False

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, "table": (whole(ENTRIES),), "Y": axes}

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype != "int16" or types["table"] != TensorType("uint16", (ENTRIES,)):
            raise Refusal(f"X is {types['X']}, the table {types['table']}; int16 and {ENTRIES} of uint16 are expected")
        if not 0 <= self.mul <= MOST_MUL or not 0 <= self.shift <= 31:
            raise Refusal(f"X is scaled by {self.mul} / 2**{self.shift}; at most {MOST_MUL} / 2**31 is supported")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int16",)

    def numpy(self, X: Array, table: Array) -> Array:
        fields = self.fields()
        z = (X.astype(np.int64) * self.mul + ((1 << self.shift) >> 1)) >> self.shift
        at, rest = np.abs(z) >> fields["bits"], np.abs(z) & ((1 << fields["bits"]) - 1)
        inside = np.minimum(at, ENTRIES - 2)
        wide = table.astype(np.int64)
        total = (wide[inside] << fields["bits"]) + rest * (wide[inside + 1] - wide[inside])
        total = np.where(at < ENTRIES - 1, total, fields["most"])
        value = np.where(z >= 0, total - fields["below"], fields["above"] - total - 1)
        return ((value + (1 << (fields["narrowing"] - 1))) >> fields["narrowing"]).astype(np.int16)

    def fields(self) -> dict[str, int]:
        """Of the function: fractional bits of a position, the limit, and what makes a result of 15 bits."""
        if self.is_tanh:
            return {"bits": 8, "most": 0xFFFF << 8, "below": 1 << 23, "above": 1 << 23, "narrowing": 8}
        return {"bits": 9, "most": 0x7FFF << 10, "below": 0, "above": 1 << 25, "narrowing": 10}

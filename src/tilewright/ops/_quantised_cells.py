"""What recurrent cells of integers have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.requant import full_range, shift_right
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.ops._cells import Cells
from tilewright.ops._gate_tables import ENTRIES
from tilewright.ops._scaling import Scaling
from tilewright.records import dataclass

DTYPES = {
    "X": "int32", "R": "int8", "Mx": "int32", "Mr": "int32", "sigmoid": "int16", "tanh": "int16", "B": "int32",
    "H": "int8", "C": "int16", "N": "int32",
}  # fmt: skip

OUT = Scaling(2**29, 0, full_range(52, "int8"))
"""Outputs that stand for 128 times themselves, made of products of two gates."""


@dataclass(frozen=True)
class QuantisedCells(Cells):
    """X are int32 totals of the input's product, with its bias; B is added to the products of the output. Both are
    requantised to sums with 12 bits behind the point: `up` shifts them to the left (whoever chose it knows that they
    fit 32 bits then), Mx or Mr multiplies, one factor or one for each gate of each unit, and `down` shifts to the
    right. Sigmoid and tanh are tables; outputs are made by `out`."""

    roundings: ClassVar[frozenset[Rounding]] = frozenset({Rounding.HALF_UP})
    x_up: int = 0
    x_down: int = 0
    r_up: int = 0
    r_down: int = 0
    out: Scaling = OUT

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["X"].shape
        if len(shape) != 3 or shape[2] % self.gates or min(shape[1:]) < 1:
            raise Refusal(f"X has shape {shape}, but steps, a batch and {self.gates} gates are expected")
        for name, kind in types.items():
            if kind.dtype != DTYPES[name]:
                raise Refusal(f"{name} is {kind.dtype}, but {DTYPES[name]} is expected")
        for name, wanted in self.operand_shapes(shape).items():
            if name in types and types[name].shape not in (wanted, (1,) if name in ("Mx", "Mr") else wanted):
                raise Refusal(f"{name} has shape {types[name].shape}, but {wanted} is expected")
        requant = self.out.requant
        if requant.dtype != "int8" or requant.shift <= 32 or self.out.add:
            raise Refusal("outputs are int8, after a shift by more than 32 bits, and nothing is added")

    def operand_shapes(self, x: Shape) -> dict[str, Shape]:
        width, table = (x[2],), (ENTRIES,)
        return super().operand_shapes(x) | {"B": width, "Mx": width, "Mr": width, "sigmoid": table, "tanh": table}

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return "int8", "int8", "int16"

    def from_x(self, totals: Array, Mx: Array) -> Array:
        return _scaled(totals << self.x_up, Mx, self.x_down)

    def from_h(self, products: Array, Mr: Array) -> Array:
        return _scaled(products << self.r_up, Mr, self.r_down)


def _scaled(total: Array, mul: Array, shift: int) -> Array:
    return shift_right(total.astype(np.int64) * mul.astype(np.int64), shift, Rounding.HALF_UP)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.exact import exact_matmul
from tilewright.ir.op import Params
from tilewright.ir.requant import full_range, shift_right
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.ops._cells import Cells
from tilewright.ops._gate_tables import ENTRIES, GATE_BITS, SUM_BITS, looked_up, saturated
from tilewright.ops._scaling import Scaling

OUT = Scaling(2**29, 0, full_range(52, "int8"))
"""Outputs that stand for 128 times themselves."""

DTYPES = {
    "X": "int32", "R": "int8", "Mx": "int32", "Mr": "int32", "sigmoid": "int16", "tanh": "int16", "B": "int32",
    "H": "int8", "C": "int16", "N": "int32",
}  # fmt: skip


@dataclass(frozen=True)
class QLinearLSTMCells(Cells):
    """LSTM cells on integers: the output h has 8 bits, the memory c and all gates 16.

    X are int32 totals of the input's product, with its bias; B is added to the products of h. Both are requantised to
    sums with 12 bits behind the point: `up` shifts them to the left (whoever chose it knows that they fit 32 bits
    then), Mx or Mr multiplies, one factor or one for each gate of each unit, and `down` shifts to the right. Sigmoid
    and tanh are tables; h is their product, by `out`.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "R", "Mx", "Mr", "sigmoid", "tanh", "B?", "H?", "C?", "N?")
    results: ClassVar[tuple[str, ...]] = ("Y", "Yh", "Yc")
    gates: ClassVar[int] = 4
    states: ClassVar[int] = 2
    x_up: int = 0
    x_down: int = 0
    r_up: int = 0
    r_down: int = 0
    cell_bits: int = SUM_BITS
    """Bits of c behind the point."""
    input_forget: bool = False
    out: Scaling = OUT

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["X"].shape
        if len(shape) != 3 or shape[2] % 4 or min(shape[1:]) < 1:
            raise Refusal(f"X has shape {shape}, but steps, a batch and 4 gates are expected")
        for name, kind in types.items():
            if kind.dtype != DTYPES[name]:
                raise Refusal(f"{name} is {kind.dtype}, but {DTYPES[name]} is expected")
        for name, wanted in self.operand_shapes(shape).items():
            if name in types and types[name].shape not in (wanted, (1,) if name in ("Mx", "Mr") else wanted):
                raise Refusal(f"{name} has shape {types[name].shape}, but {wanted} is expected")
        if not 0 <= self.cell_bits <= SUM_BITS or self.out.requant.dtype != "int8":
            raise Refusal(f"c has {self.cell_bits} bits behind the point, h is {self.out.requant.dtype}")
        if self.out.add or self.out.requant.rounding != "half_up" or self.out.requant.shift <= 32:
            raise Refusal("outputs are rounded half up after a shift by more than 32 bits, and nothing is added")

    def operand_shapes(self, x: Shape) -> dict[str, Shape]:
        width, table = (x[2],), (ENTRIES,)
        return super().operand_shapes(x) | {"B": width, "Mx": width, "Mr": width, "sigmoid": table, "tanh": table}

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return "int8", "int8", "int16"

    def numpy(
        self, X: Array, R: Array, Mx: Array, Mr: Array, sigmoid: Array, tanh: Array, B: Array | None = None,
        H: Array | None = None, C: Array | None = None, N: Array | None = None,
    ) -> tuple[Array, ...]:  # fmt: skip
        steps, batch, width = X.shape
        lengths = np.full((batch, 1), steps) if N is None else N.reshape(batch, 1)
        zero = np.zeros((batch, width // 4), np.int64)
        # What stands for an output of zero.
        nothing = np.full_like(zero, self.out.requant.zero_point)
        h = np.where(lengths > 0, nothing if H is None else H, nothing)
        c = np.where(lengths > 0, zero if C is None else C, zero)
        y = np.zeros((steps, *zero.shape), np.int8)
        for t in reversed(range(steps)) if self.reverse else range(steps):
            products: Array = exact_matmul(h.astype(np.int32), R.T.astype(np.int32)) + (0 if B is None else B)
            from_x, from_h = (
                scaled(X[t] << self.x_up, Mx, self.x_down),
                scaled(products << self.r_up, Mr, self.r_down),
            )
            sums = saturated(from_x + from_h)
            new_h, new_c = self._cell(sums, c, sigmoid, tanh)
            h, c = np.where(t < lengths, new_h, h), np.where(t < lengths, new_c, c)
            y[t] = np.where(t < lengths, h, nothing)
        return y, h.astype(np.int8), c.astype(np.int16)

    def _cell(self, sums: Array, c: Array, sigmoid: Array, tanh: Array) -> tuple[Array, Array]:
        i, o, forget, cell = np.split(sums, 4, axis=1)
        i, o, cell = looked_up(sigmoid, i), looked_up(sigmoid, o), looked_up(tanh, cell)
        forget = 2**GATE_BITS - 1 - i if self.input_forget else looked_up(sigmoid, forget)
        kept = shift_right(forget * c, GATE_BITS, "half_up")
        new = saturated(kept + shift_right(i * cell, 2 * GATE_BITS - self.cell_bits, "half_up"))
        seen = looked_up(tanh, saturated(new << (SUM_BITS - self.cell_bits)))
        return self.out(o * seen), new

    def params(self, types: Mapping[str, TensorType]) -> Params:
        steps, batch, width = types["X"].shape
        return {
            "steps": steps, "batch": batch, "hidden": width // 4, "reverse": int(self.reverse),
            "coupled": int(self.input_forget), "x_up": self.x_up, "x_down": self.x_down,
            "r_up": self.r_up, "r_down": self.r_down,
            "cell_bits": self.cell_bits, "x_factors": types["Mx"].elements, "r_factors": types["Mr"].elements,
            "out": self.out.params(),
        }  # fmt: skip


def scaled(total: Array, mul: Array, shift: int) -> Array:
    return shift_right(total.astype(np.int64) * mul.astype(np.int64), shift, "half_up")

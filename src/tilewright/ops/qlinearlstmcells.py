from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.exact import exact_matmul
from tilewright.ir.requant import shift_right
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, TensorType
from tilewright.ops._gate_tables import GATE_BITS, SUM_BITS, looked_up, saturated
from tilewright.ops._quantised_cells import QuantisedCells
from tilewright.records import dataclass


@dataclass(frozen=True)
class QLinearLSTMCells(QuantisedCells):
    """LSTM cells on integers: the output h has 8 bits, the memory c and all gates 16; h is the product of two tables'
    values."""

    operands: ClassVar[tuple[str, ...]] = ("X", "R", "Mx", "Mr", "sigmoid", "tanh", "B?", "H?", "C?", "N?")
    results: ClassVar[tuple[str, ...]] = ("Y", "Yh", "Yc")
    gates: ClassVar[int] = 4
    states: ClassVar[int] = 2
    cell_bits: int = SUM_BITS
    """Bits of c behind the point."""
    input_forget: bool = False

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if not 0 <= self.cell_bits <= SUM_BITS:
            raise Refusal(f"c has {self.cell_bits} bits behind the point, but 0 to {SUM_BITS} are expected")

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
            sums = saturated(self.from_x(X[t], Mx) + self.from_h(products, Mr))
            new_h, new_c = self._cell(sums, c, sigmoid, tanh)
            h, c = np.where(t < lengths, new_h, h), np.where(t < lengths, new_c, c)
            y[t] = np.where(t < lengths, h, nothing)
        return y, h.astype(np.int8), c.astype(np.int16)

    def _cell(self, sums: Array, c: Array, sigmoid: Array, tanh: Array) -> tuple[Array, Array]:
        i, o, forget, cell = np.split(sums, 4, axis=1)
        i, o, cell = looked_up(sigmoid, i), looked_up(sigmoid, o), looked_up(tanh, cell)
        forget = 2**GATE_BITS - 1 - i if self.input_forget else looked_up(sigmoid, forget)
        kept = shift_right(forget * c, GATE_BITS, Rounding.HALF_UP)
        new = saturated(kept + shift_right(i * cell, 2 * GATE_BITS - self.cell_bits, Rounding.HALF_UP))
        seen = looked_up(tanh, saturated(new << (SUM_BITS - self.cell_bits)))
        return self.out(o * seen), new

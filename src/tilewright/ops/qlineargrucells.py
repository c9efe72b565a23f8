from __future__ import annotations

from typing import ClassVar

import numpy as np

from tilewright.ir.exact import exact_matmul
from tilewright.ir.requant import full_range, shift_right
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.ops._gate_tables import GATE_BITS, looked_up, saturated
from tilewright.ops._quantised_cells import QuantisedCells
from tilewright.ops._scaling import Scaling
from tilewright.records import dataclass

OUT = Scaling(2**29, 0, full_range(37, "int8"))
"""Outputs that stand for 128 times themselves, made of the state."""


@dataclass(frozen=True)
class QLinearGRUCells(QuantisedCells):
    """GRU cells on integers, with products before the reset. The state has 16 bits, 15 of them behind the point: C to
    begin with, Yc at the end; the output, which is what R is multiplied by, is the state by `out`."""

    operands: ClassVar[tuple[str, ...]] = ("X", "R", "Mx", "Mr", "sigmoid", "tanh", "B?", "C?", "N?")
    results: ClassVar[tuple[str, ...]] = ("Y", "Yh", "Yc")
    gates: ClassVar[int] = 3
    out: Scaling = OUT

    def numpy(
        self, X: Array, R: Array, Mx: Array, Mr: Array, sigmoid: Array, tanh: Array, B: Array | None = None,
        C: Array | None = None, N: Array | None = None,
    ) -> tuple[Array, ...]:  # fmt: skip
        steps, batch, width = X.shape
        lengths = np.full((batch, 1), steps) if N is None else N.reshape(batch, 1)
        zero = np.zeros((batch, width // 3), np.int64)
        c = np.where(lengths > 0, zero if C is None else C, zero)
        y = np.zeros((steps, *zero.shape), np.int8)
        for t in reversed(range(steps)) if self.reverse else range(steps):
            products: Array = exact_matmul(self.out(c).astype(np.int32), R.T.astype(np.int32)) + (0 if B is None else B)
            from_x, from_h = self.from_x(X[t], Mx), self.from_h(products, Mr)
            c = np.where(t < lengths, self._cell(from_x, from_h, c, sigmoid, tanh), c)
            y[t] = np.where(t < lengths, self.out(c), self.out.requant.zero_point)
        return y, self.out(c), c.astype(np.int16)

    def _cell(self, from_x: Array, from_h: Array, c: Array, sigmoid: Array, tanh: Array) -> Array:
        hidden = c.shape[1]
        update, reset = np.split(looked_up(sigmoid, saturated(from_x + from_h)[:, : 2 * hidden]), 2, axis=1)
        kept = shift_right(reset * saturated(from_h[:, 2 * hidden :]), GATE_BITS, Rounding.HALF_UP)
        new = looked_up(tanh, saturated(saturated(from_x[:, 2 * hidden :]) + kept))
        return saturated(shift_right(update * c + (2**GATE_BITS - update) * new, GATE_BITS, Rounding.HALF_UP))

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
from tilewright.ops._gate_tables import ENTRIES, GATE_BITS, looked_up, saturated
from tilewright.ops._scaling import Scaling
from tilewright.ops.qlinearlstmcells import DTYPES, scaled

OUT = Scaling(2**29, 0, full_range(37, "int8"))
"""Outputs that stand for 128 times themselves."""


@dataclass(frozen=True)
class QLinearGRUCells(Cells):
    """GRU cells on integers, with products before the reset. The state has 16 bits, 15 of them behind the point: C to
    begin with, Yc at the end; the output, which is what R is multiplied by, is the state by `out`.

    The other operands and fields are those of QLinearLSTMCells.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "R", "Mx", "Mr", "sigmoid", "tanh", "B?", "C?", "N?")
    results: ClassVar[tuple[str, ...]] = ("Y", "Yh", "Yc")
    gates: ClassVar[int] = 3
    x_up: int = 0
    x_down: int = 0
    r_up: int = 0
    r_down: int = 0
    out: Scaling = OUT

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["X"].shape
        if len(shape) != 3 or shape[2] % 3 or min(shape[1:]) < 1:
            raise Refusal(f"X has shape {shape}, but steps, a batch and 3 gates are expected")
        for name, kind in types.items():
            if kind.dtype != DTYPES[name]:
                raise Refusal(f"{name} is {kind.dtype}, but {DTYPES[name]} is expected")
        for name, wanted in self.operand_shapes(shape).items():
            if name in types and types[name].shape not in (wanted, (1,) if name in ("Mx", "Mr") else wanted):
                raise Refusal(f"{name} has shape {types[name].shape}, but {wanted} is expected")
        if self.out.requant.dtype != "int8" or self.out.requant.rounding != "half_up" or self.out.requant.shift <= 32:
            raise Refusal("outputs are int8, rounded half up after a shift by more than 32 bits")

    def operand_shapes(self, x: Shape) -> dict[str, Shape]:
        width, table = (x[2],), (ENTRIES,)
        return super().operand_shapes(x) | {"B": width, "Mx": width, "Mr": width, "sigmoid": table, "tanh": table}

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return "int8", "int8", "int16"

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
            from_x, from_h = scaled(X[t] << self.x_up, Mx, self.x_down), scaled(products << self.r_up, Mr, self.r_down)
            c = np.where(t < lengths, self._cell(from_x, from_h, c, sigmoid, tanh), c)
            y[t] = np.where(t < lengths, self.out(c), self.out.requant.zero_point)
        return y, self.out(c), c.astype(np.int16)

    def _cell(self, from_x: Array, from_h: Array, c: Array, sigmoid: Array, tanh: Array) -> Array:
        hidden = c.shape[1]
        update, reset = np.split(looked_up(sigmoid, saturated(from_x + from_h)[:, : 2 * hidden]), 2, axis=1)
        kept = shift_right(reset * saturated(from_h[:, 2 * hidden :]), GATE_BITS, "half_up")
        new = looked_up(tanh, saturated(saturated(from_x[:, 2 * hidden :]) + kept))
        return saturated(shift_right(update * c + (2**GATE_BITS - update) * new, GATE_BITS, "half_up"))

    def params(self, types: Mapping[str, TensorType]) -> Params:
        steps, batch, width = types["X"].shape
        return {
            "steps": steps, "batch": batch, "hidden": width // 3, "reverse": int(self.reverse), "coupled": 0,
            "x_up": self.x_up, "x_down": self.x_down, "r_up": self.r_up, "r_down": self.r_down, "cell_bits": GATE_BITS,
            "x_factors": types["Mx"].elements, "r_factors": types["Mr"].elements, "out": self.out.params(),
        }  # fmt: skip
